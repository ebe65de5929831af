# Arrays of coordinates alone name cells, of which the model's values are asked: as text does with --without-values.
cat >make.py <<'PYTHON'
import h5py, numpy as np
with h5py.File("model.h5", "w") as f:
    f.attrs.update(format="blco-model", version=np.uint32(1), rank=np.uint64(1), shape=np.array([2, 3], "u8"),
                   mode_names=np.array([b"user", b"day"]),
                   stop_reason="tolerance", seed=np.uint64(9), fit=0.75, sweeps=np.uint64(1))
    f["weights"] = [10.0]
    f["fit_history"] = [0.75]
    f["factors/0"] = [[0.5], [2.0]]
    f["factors/1"] = [[1.0], [2.0], [4.0]]
cells = np.array([[1, 2], [0, 0], [1, 1]])
np.savez("coords.npz", coords=cells.T)
np.savez("indices.npz", indices=cells)
np.savez("square.npz", coords=cells[:2].T)
np.savez("lists.npz", mode0=cells[:, 0], mode1=cells[:, 1])
np.savez("three.npz", coords=np.zeros((3, 5), int))
with h5py.File("cells.h5", "w") as f:
    f["indices"] = cells
PYTHON
/usr/bin/python3 make.py || exit 77
for cells in coords.npz indices.npz square.npz lists.npz cells.h5; do
  run blco-predict model.h5 $cells -o - --index-base 0 --quiet
done
run blco-predict model.h5 coords.npz --without-values --summary --quiet
run blco-predict model.h5 coords.npz --top 1 -o out.csv
run blco-predict model.h5 three.npz -o out.csv
run blco-ingest coords.npz -o out.blco
list_folder
