"""blco-ingest reads the coordinate lists that numpy, scipy, pydata/sparse and h5py write: what blco-export gives is them.

usage: check_array_inputs.py BIN_FOLDER [any: peak memory is not looked at]
"""
import hashlib
import itertools
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

from blco_commands import Commands, skip

try:
    import h5py
except ImportError:
    skip("python3-h5py is not here")
try:
    import scipy.sparse
except ImportError:
    scipy = None

# More entries than the reader takes at a time of so little memory: an eighth of it, at 24 bytes an entry or more.
COUNT, SHAPE = 70_007, (90, 1000, 120, 7)
LITTLE = ["--memory", "12MiB"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
VALUES = [*INTEGERS, "f4", "f8", "?"]


def make_tensor(count=COUNT, shape=SHAPE, seed=11):
    """Coordinates, each once and shuffled, as order x nnz, and small whole values that every type has."""
    source = np.random.default_rng(seed)
    places = source.choice(np.prod(shape), count, replace=False)
    coordinates = np.stack(np.unravel_index(places, shape)).astype("i8")
    return coordinates, source.integers(1, 100, count).astype("f8")


class Checker:
    def __init__(self, commands, folder):
        self.commands, self.folder, self.failures, self.count = commands, folder, [], 0

    def check(self, name, files, coordinates, values, shape=None, options=()):
        """`files` hold the tensor of these coordinates (from 0, order x nnz) and values."""
        container, text = self.folder / "out.blco", self.folder / "out.tns"
        output, _ = self.commands.run("blco-ingest", *files, "-o", container, "--chunk-nnz", "16384", *LITTLE,
                                      *options)
        self.commands.run("blco-export", container, "-o", text)
        found = np.loadtxt(text, ndmin=2)
        expected = np.column_stack([coordinates.T + 1, values])
        order = len(coordinates)
        same = found.shape == expected.shape and np.array_equal(
            found[np.lexsort(found.T[:order])], expected[np.lexsort(expected.T[:order])])
        if shape is not None and f"shape     {'x'.join(map(str, shape))}" not in output:
            same = False
        self.count += 1
        if not same:
            self.failures.append(f"{name}: another tensor came out\n{output}")


def check_numpy(checker, folder):
    coordinates, values = make_tensor()
    path = folder / "a.npz"
    row, col = coordinates[1], coordinates[2]
    pairs = np.unique(np.stack([row, col]), axis=1)
    pair_values = values[:pairs.shape[1]]
    for save, name in ((np.savez, "stored"), (np.savez_compressed, "deflated")):
        # The arrays that scipy.sparse.save_npz writes, in its order.
        save(path, row=pairs[0].astype("i4"), col=pairs[1].astype("i4"), format=np.array(b"coo"),
             shape=np.array((2000, 300)), data=pair_values)
        checker.check(f"scipy, {name}", [path], pairs, pair_values, (2000, 300))
        # Those of pydata/sparse.
        save(path, data=values, coords=coordinates.astype("u2"), shape=np.array(SHAPE) + 5, fill_value=values[0] * 0)
        checker.check(f"sparse, {name}", [path], coordinates, values, np.array(SHAPE) + 5)
        for order, by_entry in itertools.product("CF", (False, True)):
            matrix = np.array(coordinates.T if by_entry else coordinates, dtype=">i4", order=order)
            save(path, indices=matrix, values=values.astype(">f8"))
            checker.check(f"matrix, {name}, {order}, {matrix.shape}", [path], coordinates, values)
        save(path, **{f"mode{n}": coordinates[n] for n in range(4)}, values=values)
        checker.check(f"lists, {name}", [path], coordinates, values)
    if scipy:
        scipy.sparse.save_npz(path, scipy.sparse.coo_matrix((pair_values, pairs), shape=(2000, 300)))
        checker.check("scipy itself", [path], pairs, pair_values, (2000, 300))


def check_types(checker, folder):
    coordinates, values = make_tensor(500, (100, 90, 80))
    path, hdf5 = folder / "t.npz", folder / "t.h5"
    for index, (value, swap) in itertools.zip_longest(INTEGERS, itertools.product(VALUES, "<>"), fillvalue="i8"):
        coords = coordinates.astype(swap + index)
        numbers = values.astype(value if value == "?" else swap + value)
        np.savez(path, coords=coords, data=numbers)
        checker.check(f"npz of {coords.dtype} and {numbers.dtype}", [path], coordinates, numbers.astype("f8"))
        with h5py.File(hdf5, "w") as file:
            file["coords"], file["data"] = coords, numbers
        checker.check(f"hdf5 of {coords.dtype} and {numbers.dtype}", [hdf5], coordinates, numbers.astype("f8"))


def check_shapes(checker, folder):
    """Orders at both ends, coordinates above 2^32, squares, several files, members that are padded or of zip64."""
    path, second = folder / "s.npz", folder / "s2.npz"
    np.savez(path, coords=np.array([4, 0, 2]), values=np.array([1.0, 2, 3]), shape=np.array([9]))
    checker.check("order 1", [path], np.array([[4, 0, 2]]), np.array([1.0, 2, 3]), (9,))
    np.savez(path, coords=np.array([[4], [0], [2]]), values=np.array([1.0, 2, 3]))
    checker.check("order 1, matrix", [path], np.array([[4, 0, 2]]), np.array([1.0, 2, 3]))
    deep = np.arange(16)[:, None] * np.ones((1, 5), int) + np.arange(5)
    np.savez_compressed(path, coords=deep, data=np.arange(1.0, 6))
    checker.check("order 16", [path], deep, np.arange(1.0, 6))
    wide = np.array([[2**40, 3, 2**33], [1, 2, 3]])
    np.savez(path, coords=wide.astype("u8"), data=np.array([1, -2, 0.5]))
    checker.check("wide", [path], wide, np.array([1, -2, 0.5]))
    square = np.array([[0, 1, 5], [1, 2, 6], [2, 3, 7]])
    np.savez(path, coords=square, data=np.ones(3))
    checker.check("square coords are order x nnz", [path], square, np.ones(3))
    np.savez(path, indices=square, data=np.ones(3))
    checker.check("square indices are nnz x order", [path], square.T, np.ones(3))
    np.savez(path, coords=square, data=np.ones(3), shape=np.array([9, 20, 9]))
    np.savez(second, indices=square.T[1:] + 10, data=np.ones(2), shape=np.array([30, 18, 18]))
    checker.check("two files", [path, second], np.hstack([square, (square + 10)[:, 1:]]), np.ones(5), (30, 20, 18))
    coordinates, values = make_tensor(1000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"PK\x05\x06 is in this comment"
        archive.writestr("note.txt", "not an array")
        for name, array in {"coords": coordinates, "data": values}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(2, 0))
    checker.check("a zip with a comment, a note and zip64", [path], coordinates, values)


def check_hdf5(checker, folder):
    coordinates, values = make_tensor()
    path = folder / "a.h5"
    storages = {"contiguous": {}, "deflated": {"compression": "gzip", "shuffle": True},
                "small chunks": {"chunks": True}}
    for (name, storage), by_entry in itertools.product(storages.items(), (False, True)):
        with h5py.File(path, "w") as file:
            file.create_dataset("indices", data=coordinates.T if by_entry else coordinates, **storage)
            file.create_dataset("values", data=values, **storage)
            file["shape"] = np.array(SHAPE)
        checker.check(f"hdf5 matrix, {name}, by entry: {by_entry}", [path], coordinates, values, SHAPE)
    with h5py.File(path, "w") as file:
        group = file.create_group("deep/er")
        group.attrs["shape"] = np.array(SHAPE) * 2
        group["data"] = values
        for n in range(4):
            group[f"coords/{n}"] = coordinates[n].astype("u4")
    checker.check("hdf5 group of lists", [f"{path}:/deep/er"], coordinates, values, np.array(SHAPE) * 2)
    # As MATLAB writes them: all numbers are doubles, lists are matrices of one row or column, behind a block of text.
    small, numbers = make_tensor(700, (50, 40, 30))
    for block, turn in itertools.product((512, 4096), (np.atleast_2d, lambda array: np.atleast_2d(array).T)):
        with h5py.File(path, "w", userblock_size=block) as file:
            file["coords"], file["values"] = small.astype("f8"), turn(numbers)
            file["shape"] = turn(np.array([60.0, 40, 30]))
        path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(128) + path.read_bytes()[128:])
        checker.check(f"matlab, {block}", [path], small, numbers, (60, 40, 30))
        with h5py.File(path, "w", userblock_size=block) as file:
            file["values"] = turn(numbers)
            for n in range(3):
                file[f"mode{n}"] = turn(small[n].astype("f4"))
        checker.check(f"matlab, lists, {block}", [path], small, numbers)


MAKE_DUPLICATES = """
import sys
import numpy as np
source, count = np.random.default_rng(5), 1_500_000
np.savez_compressed(sys.argv[1], coords=source.integers(0, (5000, 300, 200), (count, 3)).T, data=source.random(count))
"""


def check_budget(checker, folder):
    """The same bytes whatever the memory; duplicates coalesce in the order of the file."""
    path, output, digests = folder / "b.npz", folder / "b.blco", set()
    # A child's peak memory begins with that of its parent: what takes much is done by another.
    subprocess.run([sys.executable, "-c", MAKE_DUPLICATES, path], check=True)
    for budget, threads in itertools.product((64, 1024), (1, 2)):
        _, peak = checker.commands.run("blco-ingest", path, "-o", output, "--memory", f"{budget}MiB", "--threads", threads)
        digests.add(hashlib.sha256(output.read_bytes()).digest())
        if peak > (budget + 64) << 20 and len(sys.argv) < 3:
            checker.failures.append(f"{peak >> 20} MiB were taken of {budget}")
    if len(digests) != 1:
        checker.failures.append(f"{len(digests)} different containers")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        checker = Checker(Commands(sys.argv[1]), folder)
        for check in (check_budget, check_numpy, check_types, check_shapes, check_hdf5):
            check(checker, folder)
    print(f"{checker.count} files of arrays read, with{'' if scipy else 'out'} scipy's own")
    sys.exit("\n".join(checker.failures) if checker.failures else 0)


main()
