"""Reordered containers hold the input, read by h5py and numpy alone; damaged reorderings are refused.

usage: check_reordering.py BIN_FOLDER PLUGIN_FOLDER FORMAT.md DATA_FOLDER
"""
import gzip
import os
import pathlib
import re
import shutil
import sys
import tempfile

from blco_commands import Commands, skip

os.environ["HDF5_PLUGIN_PATH"] = sys.argv[2]
try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")

CORRUPT = 4
printed = {}
exec(re.search(r"\n## A reader in Python\n.*?```python\n(.*?)```", pathlib.Path(sys.argv[3]).read_text(), re.S)[1], printed)


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def metadata_crc(file):
    """From the table in FORMAT.md."""
    a, chunks = file.attrs, file["chunks"]
    data = a["format"] + np.array([a["version"]], "<u4").tobytes() + np.array([len(a["shape"])], "<u8").tobytes()
    data += a["shape"].astype("<u8").tobytes() + np.array([a["nnz"], a["chunk_nnz"]], "<u8").tobytes()
    data += np.array([a["sum_of_squares"]], "<f8").tobytes()
    for name in a["mode_names"]:
        data += np.array([len(name)], "<u8").tobytes() + name
    data += bytes([a["complete"]])
    for name in ("address", "stored_bytes", "payload_bytes", "filter_mask", "lower", "upper"):
        data += chunks[name][()].tobytes()
    for mode in range(len(a["shape"])):
        if f"modes/{mode}/relabelling" in file:
            crc = file[f"modes/{mode}/relabelling"].attrs["crc32c"]
            data += np.array([mode], "<u8").tobytes() + np.array([crc], "<u4").tobytes()
    if "duplicates" in a:
        data += np.array([len(a["duplicates"])], "<u8").tobytes() + a["duplicates"]
    return crc32c(data)


def read_text(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        table = np.loadtxt(file)
    return table[:, :-1].astype("u8") - np.uint64(1), np.ascontiguousarray(table[:, -1])


def coalesce(coordinates, values):
    """Sorted by coordinates; equal ones summed in the order of the input."""
    order = np.lexsort(coordinates.T[::-1])
    coordinates, values = coordinates[order], values[order]
    first = np.flatnonzero(np.r_[True, (coordinates[1:] != coordinates[:-1]).any(axis=1)])
    return coordinates[first], np.add.reduceat(values, first)


def by_frequency(column, length):
    """Indices by falling count, equal counts by index."""
    return np.argsort(-np.bincount(column.astype("i8"), minlength=length), kind="stable")


def check_contents(container, text):
    coordinates, values = read_text(text)
    expected, sums = coalesce(coordinates, values)
    actual, read = printed["read"](container)
    order = np.lexsort(actual.T[::-1])
    assert (actual[order] == expected).all() and np.allclose(read[order], sums, rtol=1e-14, atol=0), container
    with h5py.File(container, "r") as file:
        assert file.attrs["crc32c"] == metadata_crc(file)
        for mode, length in enumerate(file.attrs["shape"]):
            order = by_frequency(coordinates[:, mode], int(length))
            name = f"modes/{mode}/relabelling"
            if (order == np.arange(length)).all():
                assert name not in file, name
            else:
                assert (file[name][()] == order).all(), name
                assert crc32c(file[name][()].astype("<u4").tobytes()) == file[name].attrs["crc32c"]


def check_refused(commands, container, what):
    for job in (["blco-info", "--verify", container], ["blco-export", container, "-o", "-"],
                ["blco-cpd", container, "--rank", 2, "-o", container.with_name("model.h5")]):
        process = commands.start(*job)
        output, _ = process.communicate()
        assert process.returncode == CORRUPT and "relabelling" in output, f"{what}: {job[0]}: {output}"


def check_damage(commands, container):
    """Each damage is under correct checksums of all that lies around it; h5py cuts the trailer off."""
    def damage(what, change):
        damaged = container.with_name("damaged.blco")
        shutil.copy(container, damaged)
        with h5py.File(damaged, "r+") as file:
            change(file, file["modes/1/relabelling"])
            file.attrs["crc32c"] = np.uint32(metadata_crc(file))
        check_refused(commands, damaged, what)

    def twice(_, dataset):
        numbers = dataset[()]
        numbers[0] = numbers[1]
        dataset[...] = numbers
        dataset.attrs["crc32c"] = np.uint32(crc32c(numbers.tobytes()))

    def outside(_, dataset):
        numbers = dataset[()]
        numbers[0] = len(numbers)
        dataset[...] = numbers
        dataset.attrs["crc32c"] = np.uint32(crc32c(numbers.tobytes()))

    def swapped(_, dataset):
        dataset[:2] = dataset[:2][::-1]

    def replace(file, numbers):
        del file["modes/1/relabelling"]
        dataset = file.create_dataset("modes/1/relabelling", data=numbers)
        dataset.attrs["crc32c"] = np.uint32(crc32c(numbers.astype("<u4").tobytes()))

    damage("an index twice", twice)
    damage("an index outside the mode", outside)
    damage("a checksum that does not match", swapped)
    damage("too short", lambda file, dataset: replace(file, dataset[:-1]))
    damage("too long", lambda file, dataset: replace(file, np.arange(len(dataset) + 1, dtype="<u4")))
    damage("two dimensions", lambda file, dataset: replace(file, dataset[()][None]))
    damage("no whole numbers", lambda file, dataset: replace(file, dataset[()].astype("<f8")))


def main():
    commands = Commands(sys.argv[1])
    data = pathlib.Path(sys.argv[4])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        generated = folder / "generated.tns"
        commands.run("blco-gen", "--shape", "70000x3000x40", "--nnz", 100000, "--skew", 3, "-o", generated)
        real = [data / name for name in ("uber-head.tns.gz", "unhcr.tns.gz") if (data / name).exists()]
        if not real:
            print(f"no real tensors: {data} is not there")
        container = folder / "out.blco"
        for text in [*real, generated]:
            commands.run("blco-ingest", text, "-o", container, "--reorder", "frequency")
            check_contents(container, text)
            print(f"{text.name}: {commands.run('blco-info', container)[0].split('reordered')[1].splitlines()[0].strip()}")
        check_damage(commands, container)


main()
