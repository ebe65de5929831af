# Two models of known factors: the second has the components in another order, one turned by a cosine of 0.6, one more.
cat >make.py <<'PYTHON'
import h5py, numpy as np

def write(name, weights, factors):
    with h5py.File(name, "w") as f:
        f.attrs.update(format="blco-model", version=np.uint32(1), rank=np.uint64(len(weights)),
                       shape=np.array([len(factor) for factor in factors], "u8"), mode_names=np.array([b"user", b"day"]),
                       stop_reason="tolerance", seed=np.uint64(9), fit=0.75, sweeps=np.uint64(2))
        f["weights"] = weights
        f["fit_history"] = [0.5, 0.75]
        for mode, factor in enumerate(factors):
            f[f"factors/{mode}"] = factor

write("one.h5", [4.0, 2.0], [[[1.0, 0], [0, 1.0], [0, 0]], [[1.0, 0], [0, 1.0]]])
write("two.h5", [2.0, 9.0, 3.0], [[[0, 0, 0.6], [1.0, 0, 0.8], [0, 1.0, 0]], [[0, 0, 1.0], [1.0, 1.0, 0]]])
write("long.h5", [1.0], [[[1.0]] * 4, [[1.0], [0]]])
PYTHON
/usr/bin/python3 make.py || exit 77
run blco-info one.h5 --compare two.h5
run blco-info one.h5 --compare one.h5 --json
run blco-info one.h5 --compare long.h5
run blco-info one.h5 --compare one.h5 --verify
printf '1 1 1\n' >tiny.tns
blco-ingest tiny.tns -o tiny.blco >/dev/null 2>&1
run blco-info tiny.blco --compare one.h5
run blco-info one.h5 --compare tiny.blco
list_folder
