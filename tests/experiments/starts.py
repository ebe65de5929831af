#!/usr/bin/env python3
"""Random starts of blco-cpd side by side: the fit and the sweeps to it, by distribution, rank and seed.

usage: starts.py TENSOR... [--bin FOLDER] [--ranks R,R] [--seeds N] [--flags "FLAGS"]

Each row: means over the seeds, per start, of the fit (of methods without one, the objective), and of the sweeps until
the fit stopped; nan where a fit is refused, such as one whose factors become zero.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

INVALID = 2  # the exit code of a fit that is refused
STARTS = ("uniform", "centered", "normal")


def fit(options, tensor, rank, start, seed, folder):
    command = [options.bin / "blco-cpd", tensor, "--rank", rank, "--threads", 1, "--start", start, "--seed", seed,
               "--json", "-o", pathlib.Path(folder) / "model.h5", *options.flags.split()]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode == INVALID:
        return math.nan, math.nan
    done.check_returncode()
    result = next(event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "result")
    return result.get("fit", result.get("objective")), result["sweeps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("tensors", nargs="+", type=pathlib.Path, metavar="TENSOR")
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--ranks", default="4,8,16,32,64")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--flags", default="")
    options = parser.parse_args()
    print("| tensor | rank | " + " | ".join(f"{start} | sweeps" for start in STARTS) + " |")
    print("| --- | ---: |" + " ---: | ---: |" * len(STARTS))
    with tempfile.TemporaryDirectory() as folder:
        for rank in options.ranks.split(","):
            for tensor in options.tensors:
                cells = []
                for start in STARTS:
                    fits, sweeps = zip(*(fit(options, tensor, rank, start, seed, folder)
                                         for seed in range(1, options.seeds + 1)))
                    cells.append(f"{statistics.mean(fits):.4g} | {statistics.mean(sweeps):.0f}")
                print(f"| {tensor.stem} | {rank} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
