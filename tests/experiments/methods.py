#!/usr/bin/env python3
"""The methods of blco-cpd on some tensors, as a table.

usage: methods.py TENSOR... [--bin FOLDER] [--rank R] [--threads N]
       methods.py --quick [--bin FOLDER]      shows on a small tensor that it works; the figures say nothing

Each row: the objective after six sweeps (of als what it minimises, too); passes, seconds in memory, and bytes read at
the least memory, all of a sweep; and the share of the bandwidth within the cores' caches that its passes reach. That
bandwidth, and the bytes that passes move, are those of blco-bench.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SWEEPS = 6
METHODS = {
    "als": [],
    "als nonnegative": ["--nonnegative"],
    "apr": ["--method", "apr"],
    "gcp gaussian": ["--method", "gcp", "--evaluations", "10"],
    "gcp poisson": ["--method", "gcp", "--loss", "poisson", "--evaluations", "10"],
    "complete": ["--method", "complete", "--ridge", "0.1"],
}


def output_of(command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=True).stdout


def fit(options, tensor, flags, folder):
    command = [options.bin / "blco-cpd", tensor, "--rank", options.rank, "--threads", options.threads, "--sweeps",
               SWEEPS, "--tolerance", "0", "--json", "-o", folder / "model.h5", *flags]
    return [json.loads(line) for line in output_of(command).splitlines()]


class CacheModel:
    """Bytes that passes move through the caches, and how many a second these allow."""

    def __init__(self, options, tensor):
        report = json.loads(output_of([options.bin / "blco-bench", tensor, "--rank", options.rank, "--threads",
                                       options.threads, "--loss", "gaussian", "--json"]))
        passes = [each for each in report["passes"] if each["chunks"] == "memory"]
        self.bandwidth = report["cache_bytes_per_second"]
        self.mttkrp = sum(each["cache_bytes"] for each in passes) / len(passes)
        self.all_modes = report["loss_passes"][0]["pass"]["cache_bytes"]
        nnz = passes[0]["nonzeros_per_second"] * passes[0]["seconds"]
        # A loss pass to one mode also reads the rows of that mode.
        self.one_mode = self.mttkrp + nnz * options.rank * 8

    def bytes_of(self, method):
        if method.startswith("als"):
            return self.mttkrp
        return self.all_modes if method.startswith("gcp") else self.one_mode


def measure(options, tensor, folder):
    model = CacheModel(options, tensor)
    for method, flags in METHODS.items():
        events = fit(options, tensor, flags, folder)
        sweeps = [event for event in events if event["event"] == "sweep"]
        plan = next(event for event in events if event["event"] == "plan")
        # The first sweep brings chunks to their place, and sorts some.
        best = min(sweeps[1:] or sweeps, key=lambda sweep: sweep["seconds"] / sweep["passes"])
        share = model.bytes_of(method) * best["passes"] / best["seconds"] / model.bandwidth
        least = plan["host_bytes"]["minimum"] + 4096
        streamed = [event for event in fit(options, tensor, [*flags, "--memory", least], folder)
                    if event["event"] == "sweep"]
        print(f"| {tensor.stem} | {method} | {sweeps[-1]['objective']:.4g} | {best['passes']} | "
              f"{best['seconds'] * 1e3:.1f} | {best['seconds'] / best['passes'] * 1e3:.2f} | "
              f"{streamed[-1]['bytes_read'] / 1e6:.1f} | {share:.2f} |", flush=True)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("tensors", nargs="*", type=pathlib.Path, metavar="TENSOR")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if bool(options.tensors) == options.quick:
        parser.error("give TENSOR, or --quick")
    return options


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.quick:
            options.tensors = [folder / "small.blco"]
            output_of([options.bin / "blco-gen", "--shape", "40x30x20", "--nnz", "2000", "--seed", "1", "-o",
                       options.tensors[0]])
        print(f"rank {options.rank}, threads {options.threads}\n")
        print("| tensor | method | objective | passes | ms a sweep | ms a pass | MB read a sweep | share of cache |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for tensor in options.tensors:
            measure(options, tensor, folder)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"methods.py: {pathlib.Path(error.cmd[0]).name} failed")
