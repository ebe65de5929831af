#!/usr/bin/env python3
"""Ingests random tables and holds the containers to Python's csv module: labels by first appearance, coordinates and
sums of values, as the readers of FORMAT.md show them; for one thread and two, much memory and little, several files, and back from the exported table.

usage: check_csv_oracle.py BIN_FOLDER PLUGIN_FOLDER FORMAT_PAGE
"""
import csv
import gzip
import io
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import h5py  # noqa: F401, the readers need it
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

SEED = 4180
ALPHABET = ['a', 'b', '7', '0', ' ', ',', ';', '\t', '"', "'", '#', 'ü', '漢', '-', '.']
NAMES = ["user", "item", "day of week", "note, free", 'a "b"', "größe"]


def random_key(source):
    if source.random() < 0.5:
        return source.choice(["ann", "bob", "7", "07", "x" * 300, "a,b"])
    return "".join(source.choice(ALPHABET) for _ in range(source.randint(1, 6)))


def random_table(source, rows):
    """Header, rows, which columns are modes, and which is the value (or None)."""
    columns = source.randint(1, 6)
    header = source.sample(NAMES, columns)
    modes = source.sample(range(columns), source.randint(1, columns))
    rest = [column for column in range(columns) if column not in modes]
    value = rest[0] if rest and source.random() < 0.7 else None
    table = []
    for _ in range(rows):
        row = [random_key(source) for _ in range(columns)]
        if value is not None:
            row[value] = source.choice(["1", "2.5", " -3 ", "1e2", "0.125", "+4"])
        table.append(row)
    return header, table, modes, value


def write(header, table, delimiter, source):
    text = io.StringIO()
    end = source.choice(["\n", "\r\n"])
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end,
                        quoting=source.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerow(header)
    for row in table:
        writer.writerow(row)
        if source.random() < 0.05:
            text.write(end)
    data = text.getvalue()
    if source.random() < 0.3:
        data = data[:-len(end)]
    return (b"\xef\xbb\xbf" if source.random() < 0.2 else b"") + data.encode()


def expected_of(texts, delimiter, modes, value):
    """What the csv module reads: labels per mode, and the values by coordinates."""
    labels = [{} for _ in modes]
    cells = {}
    for data in texts:
        rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter) if row]
        for row in rows[1:]:
            point = tuple(labels[m].setdefault(row[column], len(labels[m])) for m, column in enumerate(modes))
            cells[point] = cells.get(point, 0.0) + (float(row[value]) if value is not None else 1.0)
    return [list(one) for one in labels], cells


def printed_readers(page):
    """The reader of coordinates and that of labels."""
    begin = page.index("## A reader in Python\n")
    return "".join(re.findall(r"```python\n(.*?)```", page[begin:page.index("\n## ", begin)], re.DOTALL))


def main():
    bin_folder, plugins, page = os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).read_text("utf-8")
    os.environ["HDF5_PLUGIN_PATH"] = plugins
    space = {}
    exec(printed_readers(page), space)  # pylint: disable=exec-used
    source = random.Random(SEED)

    def run(folder, *arguments):
        subprocess.run([os.path.join(bin_folder, arguments[0]), *arguments[1:], "--quiet"], cwd=folder, check=True)

    done = 0
    for trial in range(60):
        with tempfile.TemporaryDirectory(prefix="blco-csv-") as temporary:
            folder = pathlib.Path(temporary)
            delimiter = source.choice([",", "\t", ";", "|"])
            header, table, modes, value = random_table(source, source.choice([1, 7, 300, 5000]))
            cut = source.randint(0, len(table)) if source.random() < 0.5 else len(table)
            texts = [write(header, part, delimiter, source) for part in (table[:cut], table[cut:]) if part]
            names = []
            for number, data in enumerate(texts):
                names.append(f"part{number}.csv" + source.choice(["", ".gz"]))
                (folder / names[-1]).write_bytes(gzip.compress(data) if names[-1].endswith("gz") else data)
            if any("," in header[mode] for mode in modes):
                continue  # --modes cannot name it
            options = ["--modes", ",".join(header[mode] for mode in modes), "--separator", delimiter]
            options += ["--value", header[value]] if value is not None else []
            mode_names = ",".join(f"m{mode}" for mode in range(len(modes)))
            options += ["--mode-names", mode_names]

            run(folder, "blco-ingest", *names, *options, "--threads", "1", "-o", "one.blco")
            run(folder, "blco-ingest", *names, *options, "--threads", "2", "--memory", "64MiB", "-o", "two.blco")
            assert (folder / "one.blco").read_bytes() == (folder / "two.blco").read_bytes(), trial

            labels, cells = expected_of(texts, delimiter, modes, value)
            assert space["read_labels"](folder / "one.blco") == labels, trial
            coordinates, values = space["read"](folder / "one.blco")
            found = {tuple(int(c) for c in point): float(v) for point, v in zip(coordinates, values)}
            assert found == cells, trial

            ending = source.choice(["csv", "tsv", "csv.gz", "tsv.zst"])
            run(folder, "blco-export", "one.blco", "-o", f"back.{ending}")
            value_name = "value" if value is None else header[value]
            run(folder, "blco-ingest", f"back.{ending}", "--modes", mode_names, "--value", value_name, "--labels-from",
                "one.blco", "-o", "again.blco")
            assert (folder / "one.blco").read_bytes() == (folder / "again.blco").read_bytes(), trial
            done += 1
    print(f"{done} tables: as Python's csv module reads them")
    return 0 if done > 20 else 1


sys.exit(main())
