#!/usr/bin/env python3
"""HOOI of blco-tucker beside pyttb's tucker_als, as a table.

usage: tucker_beside_pyttb.py TENSOR.tns[.gz]... [--bin FOLDER] [--rank R] [--sweeps K] [--limit SECONDS]
       with pyttb in the environment

Both start from orthonormalised normal random matrices, of their own seeds, and take K sweeps. Rows: ours in memory, two
sweeps of ours at the least memory of its plan, and pyttb on the same coordinates; each in a process of its own, on all
processors. Columns: the fit, seconds and bytes read of a sweep on average, and peak resident memory. pyttb may take the
limit for all its sweeps, and 16 GiB.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np


def run(command, limit=None):
    """Of a process: peak resident memory in MiB, its standard output, and why it failed or None."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=errors)
        end = time.monotonic() + limit if limit else None
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if end and time.monotonic() > end:
                process.kill()
                os.wait4(process.pid, 0)
                return None, None, f"not within {limit} s"
            time.sleep(0.02)
        output.seek(0)
        errors.seek(0)
        words = errors.read().decode().strip().splitlines()[-1:] or ["failed"]
        return usage.ru_maxrss / 1024, output.read().decode(), words[0] if status else None


def fit_ours(options, container, folder, sweeps, *flags):
    command = [options.bin / "blco-tucker", container, "--ranks", options.rank, "--method", "hooi", "--sweeps", sweeps,
               "--tolerance", 0, "--json", "-o", folder / "model.h5", *flags]
    peak, output, failure = run(command)
    if failure:
        sys.exit(failure)
    events = [json.loads(line) for line in output.splitlines()]
    done = [event for event in events if event["event"] == "sweep"]
    plan = next(event for event in events if event["event"] == "plan")
    means = [sum(sweep[key] for sweep in done) / len(done) for key in ("seconds", "bytes_read")]
    return done[-1]["fit"], *means, peak, plan["host_bytes"]["minimum"]


def fit_pyttb(path, rank, sweeps):
    import pyttb as ttb

    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    with np.load(path) as file:
        coords, values = file["coords"].astype(np.int64), file["values"].astype(float).reshape(-1, 1)
        shape = tuple(map(int, file["shape"]))
    tensor = ttb.sptensor(coords, values, shape)
    ranks = [min(rank, length) for length in shape]
    random = np.random.default_rng(1)
    start = [np.linalg.qr(random.standard_normal((length, r)))[0] for length, r in zip(shape, ranks)]
    begin = time.monotonic()
    _, _, output = ttb.tucker_als(tensor, ranks, init=start, maxiters=sweeps, stoptol=0, printitn=0)
    print(json.dumps({"seconds": (time.monotonic() - begin) / sweeps, "fit": float(output["fit"])}))


def compare(options, name, folder):
    stem = name.name.split(".")[0]
    container, text, arrays = folder / f"{stem}.blco", folder / f"{stem}.tns", folder / f"{stem}.npz"
    subprocess.run([options.bin / "blco-ingest", name, "-o", container, "--quiet"], check=True)
    subprocess.run([options.bin / "blco-export", container, "-o", text, "--quiet"], check=True)
    lines = np.loadtxt(text)
    coords = lines[:, :-1].astype(np.int64) - 1
    np.savez(arrays, coords=coords, values=lines[:, -1], shape=coords.max(axis=0) + 1)

    def print_row(who, fit, seconds, read, peak):
        print(f"| {stem} | {who} | {fit} | {seconds:.3f} | {read} | {peak:.0f} |", flush=True)

    fit, seconds, read, peak, least = fit_ours(options, container, folder, options.sweeps)
    print_row("in memory", f"{fit:.6f}", seconds, f"{read / 1e6:.1f}", peak)
    _, seconds, read, peak, _ = fit_ours(options, container, folder, 2, "--memory", least + 4096)
    print_row("least memory", "-", seconds, f"{read / 1e6:.1f}", peak)
    peak, output, failure = run([sys.executable, __file__, "--fit", arrays, options.rank, options.sweeps],
                                options.limit)
    if failure:
        print(f"| {stem} | pyttb | {failure} | | | |", flush=True)
    else:
        of_pyttb = json.loads(output.splitlines()[-1])
        print_row("pyttb", f"{of_pyttb['fit']:.6f}", of_pyttb["seconds"], "-", peak)


def main():
    if sys.argv[1:2] == ["--fit"]:
        return fit_pyttb(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("tensors", nargs="+", type=pathlib.Path, metavar="TENSOR")
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--limit", type=int, default=300)
    options = parser.parse_args()
    print("| tensor | | fit | s a sweep | MB read a sweep | peak MiB |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tensors:
            compare(options, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
