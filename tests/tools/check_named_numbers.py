#!/usr/bin/env python3
"""Runs jobs that are refused with a number to give instead, and each again with exactly that number: it must do.

usage: check_named_numbers.py BIN_FOLDER

A job is refused with a budget of one byte, of 1 MiB, and of half of what it named before. A search for ranks that ends
with a note that names a budget goes on with that one; each of its notes names a larger one.
"""
import os
import re
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 120
NAMED = re.compile(r"(?:give|give at least) --memory (\d+)([KM])iB")

SETUP = """
blco-gen --shape 3000x2000x1000 --nnz 30000 --counts --seed 1 --chunk-nnz 4096 -o tensor.blco
blco-gen --shape 300x200x100 --nnz 20000 --counts --skew 2 --seed 1 --chunk-nnz 4096 -o short.blco
blco-export tensor.blco -o tensor.tns
head -3000 tensor.tns >more.tns
awk 'BEGIN { print "user,item"; for (i = 0; i < 20000; ++i) print "u" i % 9000 ",i" i * i % 997 }' >keys.csv
awk 'BEGIN { for (i = 1; i <= 3000; ++i) print "label " i }' >labels.map
blco-cpd tensor.blco --rank 4 --sweeps 1 -o model.h5
blco-ingest keys.csv --modes user,item -o keys.blco
blco-cpd keys.blco --rank 4 --sweeps 1 -o keys.h5
blco-tucker tensor.blco --ranks 3 --sweeps 1 -o tucker.h5
"""

FITS = [f"--rank 8 {options}" for options in (
    "--method als", "--momentum off", "--nonnegative", "--method apr", "--method gcp --loss poisson",
    "--method complete --ridge 1",
    "--method gcp --loss gaussian --precision f32", "--start nvecs", "--starts 2", "--deterministic",
    "--method complete --ridge 1 --validate tensor.blco")] + ["--rank 4 --init model.h5"]

JOBS = [
    *(f"blco-ingest {inputs} -o out.blco" for inputs in (
        "tensor.tns", "tensor.tns more.tns --duplicates last", "tensor.tns --reorder frequency",
        "tensor.tns --labels 0=labels.map", "tensor.tns --chunk-nnz 1000", "keys.csv --modes user,item",
        "keys.csv --modes user,item --chunk-nnz 1000", "keys.csv --modes user,item --reorder frequency",
        "tensor.tns --hold-out 10% --held-out-to held.blco")),
    "blco-gen --shape 3000x2000x1000 --nnz 200000 -o out.blco",
    "blco-gen --shape 3000x2000x1000 --nnz 200000 --reorder frequency -o out.blco",
    *(f"blco-cpd tensor.blco --sweeps 1 {options} -o out.h5" for options in FITS),
    "blco-cpd tensor.blco --sweeps 1 --rank 2,3",
    *(f"blco-tucker tensor.blco {options} -o out.h5" for options in (
        "--ranks 4 --sweeps 1", "--ranks 4 --sweeps 1 --method hooi", "--ranks 4 --sweeps 1 --method hoqri",
        "--ranks 4 --sweeps 1 --start nvecs", "--ranks 4 --sweeps 1 --deterministic", "--init tucker.h5 --sweeps 1",
        "--resume tucker.h5 --sweeps 2")),
    "blco-tucker short.blco --error 0.3 --sweeps 9 -o out.h5",
    *(f"blco-predict {options} -o out.csv" for options in (
        "model.h5 tensor.blco", "model.h5 tensor.tns", "model.h5 tensor.blco --top 9", "keys.h5 keys.csv",
        "tucker.h5 tensor.blco", "model.h5 tensor.tns --each-entry")),
    *(f"blco-info {options}" for options in (
        "tensor.blco --histogram", "tensor.blco --verify", "model.h5 --report out.html --tensor tensor.blco")),
]

# Refusals that name another number: the command with {} for it, one that is refused, and how it is named.
OTHERS = [
    ("blco-tucker short.blco --ranks {},20,20 --sweeps 1 -o out.h5", "301", r"mode's length of (\d+)"),
    ("blco-tucker short.blco --ranks {},3,3 --sweeps 1 -o out.h5", "10", r"the product of the other ranks, (\d+)"),
    ("blco-tucker short.blco --error {} --sweeps 1 -o out.h5", "1e-9", r"at least ([\d.]+)"),
    ("blco-tucker short.blco --precision f32 --error {} --sweeps 1 -o out.h5", "1e-4", r"at least ([\d.]+)"),
    ("blco-cpd tensor.blco --init model.h5 --rank {} --sweeps 1 -o out.h5", "5", r"give --rank (\d+)"),
    ("blco-cpd tensor.blco --rank {} --sweeps 1 -o out.h5", "0", r"minimum of (\d+)"),
    ("blco-ingest tensor.tns --chunk-nnz {} -o out.blco", "0", r"minimum of (\d+)"),
    ("blco-ingest headed.tns --skip-lines {} -o out.blco", "0", r"use --skip-lines (\d+)"),
    ("blco-ingest zero.tns --index-base {} -o out.blco", "1", r"use --index-base (\d+)"),
    ("blco-ingest keys.csv --modes user,item --threads {} -o out.blco", "0", r"minimum of (\d+)"),
]


def main():
    environment = dict(os.environ, PATH=f"{os.path.abspath(sys.argv[1])}:{os.environ['PATH']}", LC_ALL="C")

    def run(command, folder):
        done = subprocess.run(["bash", "-c", f"{command} --threads 2" if "--threads" not in command else command],
                              cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_SECONDS, check=False)
        return done.returncode, done.stderr

    failed, tried = [], 0
    with tempfile.TemporaryDirectory(prefix="blco-named-") as folder:
        setup = subprocess.run(["bash", "-e", "-c", SETUP], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        if setup.returncode != 0:
            sys.exit(f"cannot make the inputs: {setup.stderr}")
        for name, text in (("headed.tns", "i j k\n1 1 1 5\n2 3 1 4\n"), ("zero.tns", "0 1 1 5\n2 3 1 4\n")):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)

        def follow(job, budget):
            """Why the job with this budget, or with what it names then, fails; and the last number that it named."""
            last = None
            while True:
                code, said = run(f"{job} --memory {budget}", folder)
                named = NAMED.findall(said)
                if code == 0 and not named:
                    return "", last
                if code not in (0, 5) or not named:
                    return f"exit {code}, names no budget: {said.strip()}", last
                number = int(named[-1][0]) << {"K": 10, "M": 20}[named[-1][1]]
                if code == 5 and last is not None:
                    return f"refused with the {budget} that it named: {said.strip()}", last
                if last is not None and number <= last:
                    return f"names no more than the {budget} that it was given: {said.strip()}", last
                last, budget = number, "".join(named[-1]) + "iB"

        for job in JOBS:
            wrong, last = follow(job, 1)
            budgets = ["1MiB", *([str(last // 2)] if last else [])]
            for budget in budgets:
                wrong = wrong or follow(job, budget)[0]
            tried += 1
            if wrong or last is None:
                failed.append(f"{job}\n  {wrong or 'a budget of one byte is not refused'}")
        for command, refused, pattern in OTHERS:
            code, said = run(command.format(refused), folder)
            named = re.search(pattern, said)
            again = run(command.format(named.group(1)), folder) if named else (0, "")
            tried += 1
            if code != 2 or not named or again[0] != 0:
                failed.append(f"{command}\n  {refused}: exit {code}, {said.strip()}\n  then exit {again[0]}, {again[1]}")
    print("\n".join(failed))
    print(f"{tried} jobs tried, {len(failed)} failed")
    return 1 if failed else 0


sys.exit(main())
