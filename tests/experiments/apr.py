#!/usr/bin/env python3
"""CP-APR of blco-cpd beside the two ways that ALTO's authors published (apr_ways.cpp), as a table.

usage: apr.py TENSOR... [--bin FOLDER] [--rank 8|16|32] [--threads N] [--sweeps K]
       apr.py --quick [--bin FOLDER]      shows on a small tensor that it works; the figures say nothing

A column is the time of one inner iteration, on average over the modes: of ours the whole step of the fit, of the others
the sums over the nonzeros alone. The least of K sweeps counts, and the least of five repeats.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

INNER = 10


def seconds_of_ours(tensor, options):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([options.bin / "blco-cpd", tensor, "--method", "apr", "--rank", str(options.rank),
                               "--inner", str(INNER), "--tolerance", "0", "--sweeps", str(options.sweeps),
                               "--threads", str(options.threads), "--seed", "1", "--json",
                               "-o", pathlib.Path(folder) / "model.h5"],
                              stdout=subprocess.PIPE, text=True, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return min(event["seconds"] / event["passes"] for event in events if event["event"] == "sweep")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("tensors", nargs="*", type=pathlib.Path, metavar="TENSOR")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--rank", type=int, choices=(8, 16, 32), default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=4)
    options = parser.parse_args()
    if bool(options.tensors) == options.quick:
        parser.error("give TENSOR, or --quick")
    return options


def compare(tensors, options):
    print(f"rank {options.rank}, threads {options.threads}; milliseconds of an inner iteration\n")
    print("| tensor | ours | stored | on the fly | stored products | ours to stored | ours to on the fly |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for tensor in tensors:
        done = subprocess.run([options.bin / "apr_ways", tensor, str(options.rank), str(options.threads), str(INNER)],
                              stdout=subprocess.PIPE, text=True, check=True)
        others = json.loads(done.stdout)
        ours = seconds_of_ours(tensor, options)
        stored, on_the_fly = others["stored_seconds"], others["on_the_fly_seconds"]
        print(f"| {tensor.stem} | {ours * 1e3:.2f} | {stored * 1e3:.2f} | {on_the_fly * 1e3:.2f} | "
              f"{others['stored_bytes'] / 2 ** 20:.0f} MiB | {ours / stored:.2f} | {ours / on_the_fly:.2f} |", flush=True)


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        if options.quick:
            small = pathlib.Path(folder) / "small.blco"
            subprocess.run([options.bin / "blco-gen", "--shape", "40x30x20", "--nnz", "2000", "--seed", "1",
                            "-o", small], stdout=subprocess.DEVNULL, check=True)
            options.tensors = [small]
        compare(options.tensors, options)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"apr.py: {pathlib.Path(error.cmd[0]).name} failed")
