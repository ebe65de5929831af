#!/usr/bin/env python3
"""Ingest of Arrow batches that a generator makes one by one: what it takes in memory beside its budget.

usage: arrow_budget.py [NONZEROS [MEMORY]]     100,000,000 and 1GiB; with blco and pyarrow in the environment; Linux

Order 3, columns of 64-bit integers, a million rows a batch. The memory is the peak of the resident set during the
ingest, less what was resident before, and so has the batch that is being read in it.
"""
import pathlib
import sys
import tempfile
import time

import numpy as np
import pyarrow

import blco

SHAPE = {"user": 2_000_000, "item": 500_000, "day": 365}
BATCH = 1_000_000
MIB = 2**20


def batches(nonzeros):
    random = np.random.default_rng(1)
    for first in range(0, nonzeros, BATCH):
        rows = min(BATCH, nonzeros - first)
        columns = {name: (length * random.random(rows) ** 2).astype(np.int64) for name, length in SHAPE.items()}
        yield pyarrow.record_batch(columns | {"n": np.ones(rows)})


def resident(what):
    """Bytes: now (VmRSS), or the most since the peak was cleared (VmHWM)."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))


def main(nonzeros=100_000_000, memory="1GiB"):
    schema = next(batches(1)).schema
    for _ in batches(BATCH):
        pass
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        reader = pyarrow.RecordBatchReader.from_batches(schema, batches(int(nonzeros)))
        tensor = blco.ingest(reader, pathlib.Path(folder) / "out.blco", modes=list(SHAPE), value="n", memory=memory)
        seconds = time.perf_counter() - begin
        print(f"{int(nonzeros):,} rows of {(len(SHAPE) + 1) * 8} bytes to {tensor.nnz:,} nonzeros in {seconds:.0f} s: "
              f"{(resident('VmHWM') - before) / MIB:.0f} MiB with a budget of {memory}, "
              f"batches of {BATCH * (len(SHAPE) + 1) * 8 / MIB:.0f} MiB")


main(*sys.argv[1:])
