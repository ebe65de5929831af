"""The tables that blco-export writes of a model are what Python's csv module and pandas read: the same labels, whatever
is in them, and the same doubles. Labels that blco reads from a file come back likewise.

usage: check_factor_tables.py BIN_FOLDER
"""
import csv
import pathlib
import random
import struct
import sys
import tempfile

from blco_commands import Commands, skip

try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")
try:
    import pandas
except ImportError:
    pandas = None

SEED = 6180
PIECES = ["a", "7", " ", ",", '"', ";", "\t", "'", "ü", "漢", "🙂", "\\", "#", "NA", "\ufeff"]
BREAKS = ["\n", "\r", "\r\n"]


def random_labels(source, count, pieces):
    labels = set()
    while len(labels) < count:
        labels.add("".join(source.choice(pieces) for _ in range(source.randint(1, 6))))
    return source.sample(sorted(labels), count)


def random_double(source):
    """Any finite one, subnormal numbers and zeros of both signs included."""
    bits = source.getrandbits(64)
    number = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return source.choice([number if np.isfinite(number) else -0.0, source.random(), float(source.randint(-9, 9))])


def write_model(path, factors, names, labels):
    with h5py.File(path, "w") as file:
        rank = factors[0].shape[1]
        file.attrs["format"] = "blco-model"
        file.attrs["rank"], file.attrs["shape"] = rank, [len(factor) for factor in factors]
        file.attrs["mode_names"] = names
        file["weights"] = np.ones(rank)
        for n, factor in enumerate(factors):
            file[f"factors/{n}"] = factor
            if labels[n] is not None:
                texts = [label.encode() for label in labels[n]]
                file[f"modes/{n}/labels"] = np.frombuffer(b"".join(texts), "u1")
                file[f"modes/{n}/label_ends"] = np.cumsum([len(text) for text in texts]).astype("u8")


def check_table(path, name, keys, factor):
    components = [f"component_{r}" for r in range(factor.shape[1])]
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    if header != [name, *components]:
        yield f"{path.name}: its header is {header}"
    if [row[0] for row in rows] != keys:
        yield f"{path.name}: other labels"
    if np.array([row[1:] for row in rows], dtype="f8").tobytes() != factor.tobytes():
        yield f"{path.name}: other numbers"
    if pandas is None:
        return
    table = pandas.read_csv(path, index_col=name, dtype={name: str}, keep_default_na=False, float_precision="round_trip")
    if table.index.tolist() != keys or table[components].to_numpy().tobytes() != factor.tobytes():
        yield f"{path.name}: pandas reads something else"


def check_model(commands, folder, source):
    rank = source.randint(1, 4)
    lengths = [source.randint(1, 40) for _ in range(3)]
    factors = [np.array([[random_double(source) for _ in range(rank)] for _ in range(length)]) for length in lengths]
    names = source.sample(["user", "item, big", 'say "day"', "index", "größe", "component_0"], 3)
    labels = [random_labels(source, lengths[0], PIECES), random_labels(source, lengths[1], PIECES + BREAKS), None]
    write_model(folder / "model.h5", factors, names, labels)
    base = source.randint(0, 1)
    output, _ = commands.run("blco-export", folder / "model.h5", "-o", folder / "out", "--index-base", base)
    written = [pathlib.Path(line.rsplit(" (", 1)[0]) for line in output.splitlines() if " (" in line]
    keys = [*labels[:2], [str(row + base) for row in range(lengths[2])]]
    for n, path in enumerate(path for path in written if path.suffix == ".csv"):
        name = names[n] + "_" * (names[n] == "component_0")
        yield from check_table(path, name, keys[n], factors[n])
    has_breaks = any(character in label for label in labels[1] for character in "\r\n")
    lists = {path.name[:5]: path for path in written if path.name.endswith(".labels.txt")}
    if sorted(lists) != ["mode0"] + ["mode1"] * (not has_breaks):
        yield f"the lists of labels are those of {sorted(lists)}"
    if lists["mode0"].read_bytes().decode().split("\n") != [*labels[0], ""]:
        yield "the list of labels has others"
    yield from check_label_file(commands, folder, source, lists["mode0"], labels[0])


def check_label_file(commands, folder, source, path, labels):
    """A list of labels that was exported names the indices of another tensor."""
    if labels[0].startswith("\ufeff"):
        return  # read as a byte order mark
    base = source.randint(0, 1)
    (folder / "t.tns").write_text(f"{base} {base} 2\n", encoding="utf-8")
    commands.run("blco-ingest", folder / "t.tns", "-o", folder / "t.blco", "--index-base", base, "--labels", f"1={path}")
    with h5py.File(folder / "t.blco") as file:
        mode = file["modes/1"]
        found = [part.tobytes().decode() for part in np.split(mode["labels"][:], mode["label_ends"][:-1])]
    if found != labels:
        yield "labels of a file are not those of the container"


def main():
    commands = Commands(sys.argv[1])
    source = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="blco-tables-") as folder:
        for number in range(40):
            place = pathlib.Path(folder) / str(number)
            place.mkdir()
            for failure in check_model(commands, place, source):
                sys.exit(f"model {number}: {failure}")
    print("40 models: csv" + (" and pandas read" if pandas else " reads") + " their tables as they are")


main()
