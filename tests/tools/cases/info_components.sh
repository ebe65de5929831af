# A model with known factors: two components, the second the heavier one, a zero column, an entry that is small.
cat >make.py <<'PYTHON'
import h5py, numpy as np
with h5py.File("model.h5", "w") as f:
    f.attrs.update(format="blco-model", version=np.uint32(1), rank=np.uint64(3), shape=np.array([4, 2], "u8"),
                   mode_names=np.array(["mot clé".encode(), b"day"]),
                   stop_reason="tolerance", seed=np.uint64(9), fit=0.75, sweeps=np.uint64(2))
    f["weights"] = [2.0, 6.0, 0.0]
    f["fit_history"] = [0.5, 0.75]
    f["factors/0"] = [[0.6, 0, 0], [-0.8, 5e-4, 0], [0, 1, 0], [0, 0, 0]]
    f["factors/1"] = [[1.0, 0.8, 0], [0, 0.6, 0]]
PYTHON
/usr/bin/python3 make.py || exit 77
run blco-info model.h5
run blco-info model.h5 --components 1 --top 1 --index-base 0 | tail -4
run blco-info model.h5 --components 2 --top 2 --json | tr , '\n' | grep -A30 components
run blco-info model.h5 --histogram
run blco-info model.h5 --components some
run blco-info model.h5 --index-base 2
list_folder
