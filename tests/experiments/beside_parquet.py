#!/usr/bin/env python3
"""Ingest of Parquet with string keys beside pyarrow's reading and the ingest of the same codes from .npz, and of an Arrow
table of these codes.

usage: beside_parquet.py [ROWS [ROUNDS]]     with blco and pyarrow in the environment

A row per job: the least seconds of all rounds, and of the processor. Keys are skewed; a row group has a million rows.
"""
import pathlib
import sys
import tempfile
import time

import numpy as np
import pyarrow
import pyarrow.parquet

import blco

LENGTHS = {"user": 200_000, "product": 30_000, "day": 365}


def by_first_appearance(numbers):
    """The codes that labels get."""
    _, first, codes = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]


def make_files(folder, rows):
    random = np.random.default_rng(1)
    columns = {name: (length * random.random(rows) ** 3).astype(np.int64) for name, length in LENGTHS.items()}
    values = random.integers(1, 9, rows).astype(float)
    names = {name: pyarrow.array([f"{name} number {i * 7919 % 1_000_003:07}" for i in range(length)])
             for name, length in LENGTHS.items()}
    keys = {name: names[name].take(pyarrow.array(numbers)) for name, numbers in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(keys | {"n": values}), folder / "keys.parquet", row_group_size=1_000_000)
    codes = {name: by_first_appearance(numbers) for name, numbers in columns.items()}
    np.savez(folder / "codes.npz", coords=np.stack(list(codes.values()), axis=1), values=values)
    return pyarrow.table(codes | {"n": values})


def main(rows=5_000_000, rounds=15):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        codes = make_files(folder, rows)
        output, options = folder / "out.blco", {"modes": list(LENGTHS), "value": "n"}
        jobs = {"ingest of Parquet": lambda: blco.ingest(folder / "keys.parquet", output, **options),
                "reading by pyarrow": lambda: pyarrow.parquet.read_table(folder / "keys.parquet"),
                "ingest of codes, .npz": lambda: blco.ingest(folder / "codes.npz", output),
                "ingest of codes, Arrow": lambda: blco.ingest(codes, output, **options)}
        least = {job: (np.inf, np.inf) for job in jobs}
        for _ in range(rounds):
            for job, run in jobs.items():
                begin = time.perf_counter(), time.process_time()
                run()
                seconds = time.perf_counter() - begin[0], time.process_time() - begin[1]
                least[job] = tuple(np.minimum(least[job], seconds))
    print("| job | s | processor, s |\n| --- | ---: | ---: |")
    for job, (wall, processor) in least.items():
        print(f"| {job} | {wall:.2f} | {processor:.2f} |")


main(*map(int, sys.argv[1:]))
