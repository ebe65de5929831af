#!/usr/bin/env python3
"""CP-ALS and CP-APR of the Python module beside pyttb, on the same arrays from the same factors.

usage: beside_pyttb.py TENSOR.tns[.gz]...    with blco and pyttb in the environment

Per tensor and method a row: seconds of the fit and peak resident memory, of ours and of pyttb, and both fits; or, of
APR, both objectives. Each fit has a process of its own, on all processors, that reads the same NumPy file first.
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

RANK = 16
ITERATIONS = {"als": 10, "apr": 3}


def read_arrays(path, output):
    import blco

    tensor = blco.ingest(path, output.with_suffix(".blco"))
    np.savez(output, coords=tensor.coords, values=tensor.values, shape=np.array(tensor.shape))


def initial_factors(shape):
    random = np.random.default_rng(1)
    return [random.uniform(size=(length, RANK)) for length in shape]


def fit_ours(method, coords, values, shape):
    import blco

    tensor = blco.tensor(coords, values, shape=shape)
    options = {"inner": 10, "tolerance": 1e-4} if method == "apr" else {"tolerance": 0, "momentum": False}
    begin = time.monotonic()
    model = blco.fit_cpd(tensor, RANK, method, initial=initial_factors(shape), max_sweeps=ITERATIONS[method],
                         **options)
    return time.monotonic() - begin, model.fit if method == "als" else model.objective


def fit_pyttb(method, coords, values, shape):
    import pyttb as ttb

    tensor = ttb.sptensor(coords, values.reshape(-1, 1), shape)
    start = ttb.ktensor(initial_factors(shape))
    begin = time.monotonic()
    if method == "als":
        _, _, output = ttb.cp_als(tensor, RANK, init=start, maxiters=ITERATIONS[method], stoptol=0, printitn=0)
        return time.monotonic() - begin, output["fit"]
    model, _, _ = ttb.cp_apr(tensor, RANK, init=start, maxiters=ITERATIONS[method], maxinneriters=10, stoptol=1e-4,
                             printitn=0, printinneritn=0)
    seconds = time.monotonic() - begin
    cells = np.ones((len(values), RANK)) * model.weights
    for mode, factor in enumerate(model.factor_matrices):
        cells *= factor[coords[:, mode]]
    total = model.weights @ np.prod([factor.sum(axis=0) for factor in model.factor_matrices], axis=0)
    return seconds, float(total - values @ np.log(cells.sum(axis=1)))


def fit(library, method, path):
    with np.load(path) as file:
        coords, values, shape = file["coords"].astype(np.int64), file["values"].astype(float), tuple(map(int, file["shape"]))
    seconds, goodness = (fit_ours if library == "blco" else fit_pyttb)(method, coords, values, shape)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak": peak, "goodness": goodness}))


def main():
    if sys.argv[1] == "--fit":
        return fit(*sys.argv[2:])
    print("| tensor | method | blco, s | pyttb, s | blco, MiB | pyttb, MiB | blco | pyttb |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name in map(pathlib.Path, sys.argv[1:]):
            arrays = pathlib.Path(folder) / f"{name.name.split('.')[0]}.npz"
            read_arrays(name, arrays)
            for method in ITERATIONS:
                rows = [json.loads(subprocess.run([sys.executable, __file__, "--fit", library, method, arrays], check=True,
                                                  capture_output=True, text=True).stdout.splitlines()[-1])
                        for library in ("blco", "pyttb")]
                cells = [f"{row['seconds']:.2f}" for row in rows] + [f"{row['peak']:.0f}" for row in rows]
                cells += [f"{row['goodness']:.8g}" for row in rows]
                print(f"| {arrays.stem} | {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
