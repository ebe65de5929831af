#!/usr/bin/env python3
"""Fits of the Python module beside those of blco-cpd: the same container, options and threads.

usage: beside_program.py BIN TENSOR.tns[.gz]... [--rounds N]     with blco in the environment; BIN: the programs

Per tensor a row: the least seconds of the processor for opening a container, 200 sweeps of least squares at rank 16 on
one thread, and saving the model, by the program and by the module, in turn, and their ratio. The program's are those of
its process, the module's those of its calls: what Python takes to start is left out.
"""
import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

SWEEPS = "200"
FIT = """
import sys, time, blco
begin = time.process_time()
blco.fit_cpd(blco.open(sys.argv[1]), 16, max_sweeps=int(sys.argv[2]), tolerance=0, threads=1).save(sys.argv[3])
print(time.process_time() - begin)
"""


def processor_seconds():
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("tensors", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    print("| tensor | blco-cpd, s | module, s | ratio |\n| --- | ---: | ---: | ---: |")
    for path in given.tensors:
        with tempfile.TemporaryDirectory() as folder:
            container, model = pathlib.Path(folder) / "in.blco", pathlib.Path(folder) / "model.h5"
            subprocess.run([given.bin / "blco-ingest", path, "-o", container, "--quiet"], check=True)
            program, module = [], []
            for _ in range(given.rounds):
                begin = processor_seconds()
                subprocess.run([given.bin / "blco-cpd", container, "--rank", "16", "--sweeps", SWEEPS, "--tolerance",
                                "0", "--threads", "1", "--quiet", "-o", model], check=True)
                program.append(processor_seconds() - begin)
                module.append(float(subprocess.check_output([sys.executable, "-c", FIT, container, SWEEPS, model])))
            print(f"| {path.name.split('.')[0]} | {min(program):.3f} | {min(module):.3f} | "
                  f"{min(module) / min(program):.3f} |", flush=True)


main()
