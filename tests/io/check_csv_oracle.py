#!/usr/bin/env python3
"""Ingests random tables and holds the containers to Python's csv module and to pandas: labels by first appearance,
coordinates and sums of values, rows left out per column, and the lines of refused fields. The tables have line breaks
and quotes in fields, missing fields, several files with columns in other order, decimal commas, byte order marks,
CR LF, blank lines and separators to be guessed. Every tenth goes through two memory sizes and numbers of threads, out
to a table and back.

usage: check_csv_oracle.py BIN_FOLDER PLUGIN_FOLDER FORMAT_PAGE [TABLES]
"""
import csv
import gzip
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import h5py  # noqa: F401, the readers need it
except ImportError as missing_module:
    print(f"SKIPPED: {missing_module}")
    sys.exit(77)
try:
    import pandas
except ImportError:
    pandas = None

SEED = 4180
NAMES = ["user", "item", "day of week", "note, free", 'a "b"', "größe", '5" disk', "two\nlines", " blank", "x;y"]
ALPHABET = ["a", "b", "7", "0", " ", ",", ";", "\t", '"', "'", "#", "ü", "漢", "-", ".", "\n", "\r\n", "😀"]
# As INPUTS.md lists them: what pandas takes for missing since version 2.
MISSING = ["", "NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null",
           "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
NUMBERS = ["1", "2.5", " -3 ", "1e2", "0.125", "+4", "0"]


class Table:
    """Files of one tensor: for each its separator, its header, and its rows of fields."""

    def __init__(self, source):
        self.source = source
        columns = source.randint(1, 6)
        header = source.sample(NAMES, columns)
        self.modes = source.sample(header, source.randint(1, columns))
        rest = [name for name in header if name not in self.modes]
        self.value = rest[0] if rest and source.random() < 0.7 else None
        self.decimal = "," if self.value and source.random() < 0.2 else "."
        self.separator = source.choice([None, None, ",", "\t", ";", "|"])
        self.policy = source.choice(["error", "skip", "skip", "unknown", "NA"])
        self.missing_share = source.choice([0, 0, 0.02, 0.2] if self.policy == "error" else [0, 0.1, 0.3])
        self.files = [self.random_file(header) for _ in range(source.choice([1, 1, 1, 2, 3]))]

    def random_file(self, header):
        source = self.source
        names = list(header)
        if source.random() < 0.5:  # other columns too, in another order
            names += source.sample([name for name in NAMES if name not in header], source.randint(0, 2))
            names = [name for name in names if name in self.modes or name == self.value or source.random() < 0.7]
            source.shuffle(names)
        separator = self.separator or source.choice([";", "\t"] if self.decimal == "," else [",", ";", "\t"])
        if self.separator is None and len(names) == 1:
            separator = ","
        rows = [[self.random_field(name) for name in names] for _ in range(source.choice([1, 3, 7, 40]))]
        return separator, names, rows

    def random_field(self, name):
        source = self.source
        if source.random() < self.missing_share:
            return source.choice(MISSING)
        if name == self.value:
            return source.choice(NUMBERS).replace(".", self.decimal)
        if source.random() < 0.5:
            return source.choice(["ann", "bob", "7", "07", "x" * 300, "a,b", "two\nlines"])
        return "".join(source.choice(ALPHABET) for _ in range(source.randint(1, 6)))

    def written_field(self, field, separators):
        must = field.startswith('"') or "\n" in field or any(separator in field for separator in separators)
        may_be_blank = field.strip() == "" or field.startswith("\ufeff")
        if must or may_be_blank or self.source.random() < 0.2:
            return '"' + field.replace('"', '""') + '"'
        return field

    def written_file(self, separator, names, rows):
        source = self.source
        end = source.choice(["\n", "\r\n"])
        text = ""
        # The guess takes what the header has most outside of quotes.
        for row, quoted in [(names, [",", ";", "\t", separator]), *((row, [separator]) for row in rows)]:
            if source.random() < 0.05:
                text += source.choice(["", " ", "  "] if len(names) > 1 else [""]) + end
            text += separator.join(self.written_field(field, quoted) for field in row) + end
        if source.random() < 0.3:
            text = text[:-len(end)]
        return (b"\xef\xbb\xbf" if source.random() < 0.2 else b"") + text.encode()


def number(field, decimal):
    return float(field.replace(decimal, "."))


class Refused(Exception):
    """Carries file number, line and column of a missing field."""


def read_by_csv(table, texts):
    """What the csv module reads: labels per mode, values by coordinates, rows left out per column."""
    labels, cells, skipped = [{} for _ in table.modes], {}, {}
    for file, ((separator, names, _), data) in enumerate(zip(table.files, texts)):
        reader = csv.reader(re.findall("[^\n]*\n|[^\n]+", data.decode("utf-8-sig")), delimiter=separator)
        header = None
        line = 1
        for row in reader:
            first_line, line = line, reader.line_num + 1
            if not row or len(row) == 1 < len(names) and not row[0].strip(" "):
                continue
            if header is None:
                header = row
                continue
            wanted = [name for name in header if name in table.modes or name == table.value]
            fields = dict(zip(header, row))
            lacking = [name for name in wanted if fields[name].strip(" \t" if name == table.value else "") in MISSING]
            if lacking and table.policy == "error":
                raise Refused(file, first_line, header.index(lacking[0]) + 1)
            if table.policy not in ("error", "skip"):
                fields |= {name: table.policy for name in lacking if name != table.value}
                lacking = [name for name in lacking if name == table.value]
            if lacking:
                skipped[lacking[0]] = skipped.get(lacking[0], 0) + 1
                continue
            point = tuple(labels[m].setdefault(fields[name], len(labels[m])) for m, name in enumerate(table.modes))
            value = number(fields[table.value], table.decimal) if table.value else 1.0
            cells[point] = cells.get(point, 0.0) + value
    return [list(one) for one in labels], cells, skipped


def read_by_pandas(table, texts):
    """The same by pandas, whose tokenizer and grouping share nothing with the csv module's."""
    frames, skipped = [], {}
    for (separator, _, _), data in zip(table.files, texts):
        frame = pandas.read_csv(io.BytesIO(data), sep=separator, dtype=str, keep_default_na=False, na_values=MISSING,
                                encoding="utf-8-sig", index_col=False)
        wanted = [name for name in frame.columns if name in table.modes or name == table.value]
        frame = frame[wanted]
        if table.policy == "error" and frame.isna().any(axis=None):
            return None
        if table.policy not in ("error", "skip"):
            frame = frame.fillna({name: table.policy for name in table.modes})
        lacking = frame[frame.isna().any(axis=1)]
        if len(lacking):
            for name, count in lacking.isna().idxmax(axis=1).value_counts().items():
                skipped[name] = skipped.get(name, 0) + int(count)
        frames.append(frame.dropna())
    rows = pandas.concat(frames, ignore_index=True)
    codes, labels = [], []
    for name in table.modes:
        code, unique = pandas.factorize(rows[name])
        codes.append(code)
        labels.append(list(unique))
    values = rows[table.value].map(lambda text: number(text, table.decimal)) if table.value else 1.0
    columns = [f"code{n}" for n in range(len(codes))]
    sums = pandas.DataFrame(dict(zip(columns, codes))).assign(value=values).groupby(columns)["value"].sum()
    cells = {point if isinstance(point, tuple) else (point,): value for point, value in sums.items()}
    return labels, cells, skipped


def quoted_names(names):
    return ",".join('"' + name.replace('"', '""') + '"' for name in names)


def printed_readers(page):
    """The reader of coordinates and that of labels."""
    begin = page.index("## A reader in Python\n")
    return "".join(re.findall(r"```python\n(.*?)```", page[begin:page.index("\n## ", begin)], re.DOTALL))


def check_whole_treatment(run, folder, ingest, policy):
    """The same bytes for other threads and memory, and for the table that is exported and ingested again."""
    run(*ingest, "--threads", "2", "--memory", "64MiB", "-o", "two.blco")
    assert (folder / "one.blco").read_bytes() == (folder / "two.blco").read_bytes()
    ending = random.Random(len(ingest)).choice(["csv", "tsv", "csv.gz", "tsv.zst"])
    run("blco-export", "one.blco", "-o", f"back.{ending}")
    run("blco-export", "one.blco", "-o", "back.csv")
    with open(folder / "back.csv", newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    run("blco-ingest", f"back.{ending}", "--modes", quoted_names(header[:-1]), "--value", header[-1], "--labels-from",
        "one.blco", "--missing", policy, "-o", "again.blco")
    assert (folder / "one.blco").read_bytes() == (folder / "again.blco").read_bytes()


def check(table, folder, space, bin_folder, is_whole):
    """Returns True if the table was read, False if it was refused, as expected."""
    texts = [table.written_file(*file) for file in table.files]
    names = []
    for n, data in enumerate(texts):
        names.append(f"part{n}.csv" + table.source.choice(["", "", ".gz"]))
        (folder / names[-1]).write_bytes(gzip.compress(data, 1) if names[-1].endswith("gz") else data)
    ingest = ["blco-ingest", *names, "--modes", quoted_names(table.modes)]
    ingest += ["--value", table.value] if table.value else []
    ingest += ["--separator", table.separator] if table.separator else []
    ingest += ["--decimal", table.decimal] if table.decimal != "." else []
    ingest += ["--missing", table.policy] if table.policy != "error" else []

    def run(program, *arguments):
        return subprocess.run([os.path.join(bin_folder, program), *arguments], cwd=folder, check=False,
                              capture_output=True, encoding="utf-8", env={**os.environ, "LC_ALL": "C"})

    def succeed(*command):
        result = run(*command)
        assert result.returncode == 0, (command, result.stderr)
        return result.stdout

    by_pandas = read_by_pandas(table, texts) if pandas else None
    result = run(*ingest, "--threads", "1", "--json", "-o", "one.blco")
    try:
        labels, cells, skipped = read_by_csv(table, texts)
    except Refused as refused:
        file, line, column = refused.args
        place = f"line {line} of {names[file]}: column {column}, "
        assert result.returncode == 2 and place in result.stderr, (place, result.stderr)
        assert by_pandas is None
        return False
    assert not pandas or by_pandas == (labels, cells, skipped), (by_pandas, labels, cells, skipped)
    if not any(cells.values()):
        assert result.returncode == 2 and ("no nonzeros" in result.stderr or "zero" in result.stderr), result.stderr
        return False
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    assert {one["column"]: one["rows"] for one in report["skipped_rows"]} == skipped, report
    assert space["read_labels"](folder / "one.blco") == labels
    coordinates, values = space["read"](folder / "one.blco")
    found = {tuple(int(c) for c in point): float(v) for point, v in zip(coordinates, values)}
    assert found == cells, (found, cells)
    if is_whole:
        check_whole_treatment(succeed, folder, ingest, table.policy)
    return True


def main():
    bin_folder, plugins, page = os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).read_text("utf-8")
    tables = int(sys.argv[4]) if len(sys.argv) > 4 else 2000
    os.environ["HDF5_PLUGIN_PATH"] = plugins
    space = {}
    exec(printed_readers(page), space)  # pylint: disable=exec-used
    source = random.Random(SEED)
    read = 0
    for trial in range(tables):
        table = Table(source)
        with tempfile.TemporaryDirectory(prefix="blco-csv-") as temporary:
            folder = pathlib.Path(temporary)
            try:
                read += check(table, folder, space, bin_folder, trial % 10 == 0)
            except Exception:
                print(f"table {trial}: modes {table.modes}, value {table.value}, separator {table.separator!r}, "
                      f"decimal {table.decimal!r}, missing {table.policy}", file=sys.stderr)
                for file in sorted(folder.glob("part*")):
                    data = file.read_bytes()
                    print(file.name, gzip.decompress(data) if file.name.endswith("gz") else data, file=sys.stderr)
                raise
    print(f"{tables} tables, {read} read and {tables - read} refused: as Python's csv module" +
          (" and pandas read" if pandas else " reads") + " them")
    if not pandas:
        print("the half of pandas was skipped: install python3-pandas")
    return 0 if read > tables // 2 else 1


sys.exit(main())
