#!/usr/bin/env python3
"""Fits of blco-cpd with momentum beside plain ones from the same starts: sweeps, and the fit at the end.

usage: momentum.py TENSOR... [--bin FOLDER] [--ranks R,R] [--seeds N] [--sweeps N] [--flags "FLAGS"]

Each row has means over the seeds. A sweep that is undone counts. "99%" and "99.9%": the sweeps, plain and with
momentum, until a fit has such a share of what all plain ones gain after the first, and their ratio: the geometric mean,
and the worst of a seed. "end": the fit after all sweeps, plain, and how much higher it is with momentum. "default": the
sweeps and the difference of the fits where the usual tolerance and limit of sweeps end them.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile


def fits_of(options, tensor, rank, seed, momentum, folder, *more):
    command = [options.bin / "blco-cpd", tensor, "--rank", rank, "--threads", 1, "--devices", "cpu", "--seed", seed,
               "--momentum", momentum, "--json", "-o", pathlib.Path(folder) / "model.h5", *options.flags.split(), *more]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True, text=True)
    return [event["fit"] for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "sweep"]


def reached(fits, goal):
    """The sweep, from 1, or one more than there are."""
    return next((sweep for sweep, fit in enumerate(fits, 1) if fit >= goal), len(fits) + 1)


def cells_of(plain, ahead, usual_plain, usual_ahead):
    cells = []
    for share in 0.99, 0.999:
        goals = [fits[0] + share * (fits[-1] - fits[0]) for fits in plain]
        before = [reached(fits, goal) for fits, goal in zip(plain, goals)]
        now = [reached(fits, goal) for fits, goal in zip(ahead, goals)]
        ratios = [a / b for a, b in zip(now, before)]
        cells += [f"{statistics.mean(before):.0f}", f"{statistics.mean(now):.0f}",
                  f"{statistics.geometric_mean(ratios):.2f} ({max(ratios):.2f})"]
    gain = statistics.mean(a[-1] - b[-1] for a, b in zip(ahead, plain))
    cells += [f"{statistics.mean(fits[-1] for fits in plain):.5f}", f"{gain:+.5f}"]
    gain = statistics.mean(a[-1] - b[-1] for a, b in zip(usual_ahead, usual_plain))
    cells += [f"{statistics.mean(map(len, fits)):.0f}" for fits in (usual_plain, usual_ahead)] + [f"{gain:+.5f}"]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("tensors", nargs="+", type=pathlib.Path, metavar="TENSOR")
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--ranks", default="8,16,32")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--flags", default="")
    options = parser.parse_args()
    print("| tensor | rank | 99% plain | on | ratio | 99.9% plain | on | ratio | end plain | on | default plain | on | "
          "fit |")
    print("| --- | ---: |" + " ---: |" * 11)
    with tempfile.TemporaryDirectory() as folder:
        for rank in options.ranks.split(","):
            for tensor in options.tensors:
                def fits(momentum, *more):
                    return [fits_of(options, tensor, rank, seed, momentum, folder, *more)
                            for seed in range(1, options.seeds + 1)]

                whole = ("--sweeps", options.sweeps, "--tolerance", 0)
                cells = cells_of(fits("off", *whole), fits("on", *whole), fits("off"), fits("on"))
                print(f"| {tensor.stem} | {rank} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
