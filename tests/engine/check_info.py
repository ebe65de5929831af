"""What blco-info says of tensors and models equals what numpy counts in the text and in the model file.

usage: check_info.py BIN_FOLDER DATA_FOLDER
"""
import gzip
import json
import pathlib
import sys
import tempfile

from blco_commands import Commands, skip

try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")

REAL = ("nips12", "unhcr", "darpa1998-5d", "uber-head")
GENERATED = {
    "long modes": ["--shape", "3000000x50x2000000", "--nnz", 60000, "--skew", 2],
    "counts": ["--shape", "30x4000x17x900", "--nnz", 80000, "--counts", "--seed", 5],
    "a key": ["--shape", "x".join(["64"] * 11),  # 66 bits
              "--nnz", 30000, "--rank", 0, "--noise", 0],
}
SMALL = 1e-3


def read_text(path):
    """Zero-based coordinates and summed values of a text without the duplicates, and the lengths of the modes."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as text:
        lines = [line for line in text if not line.startswith("#")]
    table = np.array(" ".join(lines).split(), dtype=np.float64).reshape(len(lines), -1)
    points, where = np.unique(table[:, :-1].astype(np.int64) - 1, axis=0, return_inverse=True)
    return points, np.bincount(where.ravel(), weights=table[:, -1])


def expected_values(values):
    """Minimum, maximum, mean, whether whole, how many distinct, and counts by sign and exponent."""
    distinct = len(np.unique(values))
    exponents = np.frexp(values)[1] - 1
    histogram = [(-2.0 ** e, -2.0 ** (e + 1), int(np.sum((values < 0) & (exponents == e))))
                 for e in sorted(set(exponents[values < 0].tolist()), reverse=True)]
    histogram += [(0.0, 0.0, int(np.sum(values == 0)))] if np.any(values == 0) else []
    histogram += [(2.0 ** e, 2.0 ** (e + 1), int(np.sum((values > 0) & (exponents == e))))
                  for e in sorted(set(exponents[values > 0].tolist()))]
    return {"min": values.min(), "max": values.max(), "whole_numbers": bool(np.all(values == np.rint(values))),
            "distinct": min(distinct, 1024), "more_distinct": distinct > 1024, "histogram": histogram}


def result(commands, *arguments):
    return json.loads(commands.run("blco-info", "--json", *arguments)[0].splitlines()[-1])


def check_tensor(commands, container, points, values):
    found = result(commands, container, "--histogram")
    assert found["nonzeros"] == len(values), "nonzeros"
    assert found["bytes_per_nonzero"] == container.stat().st_size / len(values), "bytes per nonzero"
    assert np.isclose(found["density"], len(values) / np.prod(np.array(found["shape"], dtype=float)), rtol=1e-12)
    expected = expected_values(values)
    told = found["values"]
    told["histogram"] = [(b["lower"], b["upper"], b["count"]) for b in told["histogram"]]
    assert np.isclose(told.pop("mean"), values.mean(), rtol=1e-12), "mean"
    assert told == expected, f"values: {told} where numpy has {expected}"
    for mode, told in enumerate(found["slices"]):
        length = found["shape"][mode]
        counts = np.bincount(points[:, mode], minlength=length)
        bucket = {"slices": length, "empty": int(np.sum(counts == 0)), "min": counts.min(), "max": counts.max(),
                  "median": np.median(counts)}
        assert {name: told[name] for name in bucket} == bucket, f"mode {mode}: {told} where numpy has {bucket}"
        assert np.isclose(told["mean"], counts.mean(), rtol=1e-12), "mean of slices"
        assert sum(b["slices"] for b in told["histogram"]) == length, "slices are left out of the histogram"
        for b in told["histogram"]:
            assert b["slices"] == np.sum((counts >= b["min"]) & (counts <= b["max"])), f"mode {mode}, bucket {b}"
    verified = result(commands, container, "--verify")
    assert verified["nonzeros"] == len(values) and verified["chunks"] == found["chunks"]


def check_model(commands, model):
    found = result(commands, model, "--components", "all", "--top", 4)
    with h5py.File(model) as file:
        weights = file["weights"][:]
        factors = [file[f"factors/{n}"][:] for n in range(len(file["factors"]))]
        assert found["fit"] == file["fit_history"][-1]
    assert [c["component"] for c in found["components"]] == np.argsort(-weights, kind="stable").tolist(), "order"
    for component in found["components"]:
        r = component["component"]
        assert component["weight"] == weights[r]
        assert np.isclose(component["share"], abs(weights[r]) / np.abs(weights).sum(), rtol=1e-12)
        for factor, told in zip(factors, component["modes"]):
            sizes = np.abs(factor[:, r])
            small = (sizes < SMALL * sizes.max()) | (sizes == 0)
            assert np.isclose(told["sparsity"], small.mean(), rtol=0, atol=1e-12), "sparsity"
            rows = np.argsort(-sizes, kind="stable")[:4]
            rows = rows[sizes[rows] > 0]
            assert [e["row"] for e in told["largest"]] == rows.tolist(), "largest entries"
            assert [e["value"] for e in told["largest"]] == factor[rows, r].tolist()
            assert [e["name"] for e in told["largest"]] == [str(row + 1) for row in rows.tolist()]
    commands.run("blco-info", model, "--verify")


def main():
    commands, data = Commands(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        texts = {name: data / f"{name}.tns.gz" for name in REAL if data.is_dir()}
        for number, (name, options) in enumerate(GENERATED.items()):
            texts[name] = folder / f"generated{number}.tns"
            commands.run("blco-gen", *options, "-o", texts[name])
        for name, text in texts.items():
            container, model = folder / "tensor.blco", folder / "model.h5"
            shape = GENERATED[name][:2] if name in GENERATED else []
            commands.run("blco-ingest", text, "-o", container, "--chunk-nnz", 100000, *shape)
            points, values = read_text(text)
            check_tensor(commands, container, points, values)
            # What is counted in several traversals is the same.
            if name == "long modes":
                tight = result(commands, container, "--histogram", "--memory", "24MiB")
                assert tight == result(commands, container, "--histogram"), "a small budget"
            commands.run("blco-cpd", container, "--rank", 5, "--sweeps", 2, "-o", model)
            check_model(commands, model)
            print(f"{name:14} {len(values):9} nonzeros, as numpy counts them")
    if not data.is_dir():
        skip(f"no real tensors at {data}; the generated ones are described as numpy does")


main()
