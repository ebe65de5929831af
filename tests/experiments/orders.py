#!/usr/bin/env python3
"""Sweeps of blco-cpd over the orders of modes beside sweeps over the natural order, with the least memory and with ample.

usage: orders.py TENSOR... [--bin FOLDER] [--ranks R,R] [--threads N,N] [--method als|apr] [--flags "FLAGS"]
       [--repeats N]

TENSOR is text or a container; copies are made of all modes. Each row: the time of a sweep, the least of all, over that
of a sweep over the natural order with ample memory, where the CPU arranges decoded chunks after eight sweeps of als.
Jobs take turns.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

LEAST_SWEEPS, AMPLE_SWEEPS = 5, 13  # by ample memory passes change after eight


def run(program, *arguments):
    command = [str(word) for word in (program, *arguments, "--json", "--quiet")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Job:
    """A fit that is run again and again; `best` is its fastest sweep."""

    def __init__(self, options, tensor, rank, threads, is_least):
        self.cpd = [options.bin / "blco-cpd", tensor, "--rank", rank, "--threads", threads, "--devices", "cpu",
                    "--method", options.method, *options.flags.split()]
        if options.method == "als":
            self.cpd += ["--momentum", "off"]  # whose own steps are the same over every order
        self.sweeps = LEAST_SWEEPS if is_least else AMPLE_SWEEPS
        self.best = math.inf
        if is_least:
            self.cpd += ["--memory", run(*self.cpd, "--dry-run")[0]["host_bytes"]["minimum"]]

    def run(self, model):
        events = run(*self.cpd, "--sweeps", self.sweeps, "--tolerance", 0, "-o", model)
        self.best = min([self.best, *(event["seconds"] for event in events if event["event"] == "sweep")])


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("tensors", nargs="+", type=pathlib.Path, metavar="TENSOR")
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--ranks", default="16,32")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--method", default="als")
    parser.add_argument("--flags", default="")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| tensor | rank | threads | natural, ample | natural, least | orders, least | orders, ample |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        files = []
        for tensor in options.tensors:
            name = tensor.name.split(".")[0]
            pair = [folder / f"{name}-{orders}.blco" for orders in ("none", "all")]
            for path, orders in zip(pair, ("none", "all")):
                run(options.bin / "blco-ingest", tensor, "--orders", orders, "-o", path)
            files.append((name, *pair))
        for rank in options.ranks.split(","):
            for threads in options.threads.split(","):
                ratios = []
                for name, natural, ordered in files:
                    jobs = [Job(options, path, rank, threads, is_least) for path, is_least in
                            ((natural, False), (natural, True), (ordered, True), (ordered, False))]
                    for _ in range(options.repeats):
                        for job in jobs:
                            job.run(folder / "model.h5")
                    ratios.append([job.best / jobs[0].best for job in jobs[1:]])
                    cells = " | ".join(f"{ratio:.2f}" for ratio in ratios[-1])
                    print(f"| {name} | {rank} | {threads} | {jobs[0].best * 1e3:.1f} ms | {cells} |", flush=True)
                cells = " | ".join(f"{mean(column):.2f}" for column in zip(*ratios))
                print(f"| mean | {rank} | {threads} | | {cells} |", flush=True)


if __name__ == "__main__":
    main()
