"""Other programs read and write containers through the HDF5 plugins: h5py, h5dump, h5repack; and blco-export gives back the input.

usage: check_open_files.py BIN_FOLDER PLUGIN_FOLDER FORMAT.md DATA_FOLDER

The reader is the one that FORMAT.md prints. What it must give comes from the text by numpy alone.
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from blco_commands import Commands, skip

os.environ["HDF5_PLUGIN_PATH"] = sys.argv[2]
try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")
if not (shutil.which("h5dump") and shutil.which("h5repack")):
    skip("h5dump and h5repack are needed (apt install hdf5-tools)")

read = {}
exec(re.search(r"\n## A reader in Python\n.*?```python\n(.*?)```", pathlib.Path(sys.argv[3]).read_text(), re.S)[1], read)
read = read["read"]

GENERATED = {
    "generated, 54 line bits": "--shape 300000x70000x365 --nnz 200000 --skew 3 --counts",
    "generated, 72 line bits": "--shape 262144x200000x150000x262143 --nnz 100000",
    "generated, 128 line bits": f"--shape {'x'.join(['256'] * 16)} --nnz 50000",
    "generated, all values 1": "--shape 5000x4000x30 --nnz 100000 --rank 0 --noise 0",
}


def read_text(path, base=1):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        order = len(file.readline().split()) - 1
    with opener(path, "rt") as file:
        table = np.loadtxt(file, dtype=np.dtype([("c", "u8", (order,)), ("v", "f8")]), ndmin=1)
    return table["c"] - np.uint64(base), np.ascontiguousarray(table["v"])


def coalesce(coordinates, values):
    """Sorted by coordinates, the first mode first; equal ones summed in the order of the input."""
    order = np.lexsort(coordinates.T[::-1])
    coordinates, values = coordinates[order], values[order]
    first = np.flatnonzero(np.r_[True, (coordinates[1:] != coordinates[:-1]).any(axis=1)])
    return coordinates[first], np.array([sum(part) for part in np.split(values, first[1:])]) if len(first) < len(values) else values


def line_index(point, shape):
    """From FORMAT.md's words, on Python's whole numbers."""
    widths = [(int(length) - 1).bit_length() for length in shape]
    line = position = 0
    for level in range(max(widths)):
        for _, mode in sorted((width, mode) for mode, width in enumerate(widths)):
            if level < widths[mode]:
                line |= (int(point[mode]) >> level & 1) << position
                position += 1
    return line


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b))


def fit(commands, folder, container):
    commands.run("blco-cpd", container, "--rank", 3, "--sweeps", 2, "--tolerance", 0, "--threads", 1, "-o", folder / "model.h5")
    with h5py.File(folder / "model.h5") as model:
        return [model["fit_history"][:], model["weights"][:], *(model[f"factors/{n}"][:] for n in range(len(model["factors"])))]


def tool(*arguments):
    return subprocess.run(list(map(str, arguments)), check=True, stdout=subprocess.PIPE, text=True).stdout


def repacked(folder, container, has_key):
    """Copies that a stranger's h5repack makes: chunks moved, and columns written again by the plugins."""
    tool("h5repack", container, folder / "moved.blco")
    yield "moved by h5repack", folder / "moved.blco"
    columns = ["index", "value"] + ["key"] * has_key
    filters = [option for name in columns for option in ("-f", f"{name}:UD=32768,0,0", "-f", f"{name}:UD=32015,1,1,7")]
    tool("h5repack", *filters, container, folder / "again.blco")
    yield "columns written again by h5repack", folder / "again.blco"


def check(commands, folder, text):
    """What is wrong with one tensor."""
    container = folder / "t.blco"
    commands.run("blco-ingest", text, "-o", container, "--chunk-nnz", 65536, "--compression", "fast")
    expected = coalesce(*read_text(text))
    coordinates, values = read(container)
    order = np.lexsort(coordinates.T[::-1])
    if not same((coordinates[order], values[order]), expected):
        yield "the reader of FORMAT.md does not give the input"
    with h5py.File(container) as file:
        shape, has_key = file.attrs["shape"], "key" in file
    some = np.unique(np.linspace(0, len(coordinates) - 1, 2000).astype(int))
    lines = [line_index(coordinates[i], shape) for i in some]
    if lines != sorted(set(lines)):
        yield "the nonzeros are not in the order of the line index"

    shown = re.search(r"DATA \{(.*?)\}", tool("h5dump", "-y", "-m", "%.17g", "-w", 0, "-d", "/value", "-s", 0, "-c", 100, container), re.S)[1]
    if not np.array_equal(np.array(shown.replace(",", " ").split(), float), values[:100]):
        yield "h5dump shows other values"

    for ending, base in ((".tns", 1), (".tns.gz", 0)):
        output = folder / f"out{ending}"
        commands.run("blco-export", container, "-o", output, "--index-base", base)
        if not same(read_text(output, base), (coordinates, values)):
            yield f"blco-export to {ending} does not give what the container holds"
    opener = gzip.open if text.suffix == ".gz" else open
    with opener(text, "rb") as file:
        lines = sorted(file)
    if len(lines) == len(values) and sorted(open(folder / "out.tns", "rb")) != lines:
        yield "blco-export and the input are not the same lines"

    model = fit(commands, folder, container)
    for what, copy in repacked(folder, container, has_key):
        commands.run("blco-info", copy)
        if not same(read(copy), (coordinates, values)):
            yield f"{what}: the reader gives something else"
        if not same(fit(commands, folder, copy), model):
            yield f"{what}: another model"


def check_writing(folder):
    """h5py makes columns of its own, and damages one."""
    random = np.random.default_rng(1)
    columns = {"lines": np.cumsum(random.integers(0, 1000, 5000, dtype="u8")), "counts": random.integers(1, 9, 5000).astype("f8"),
               "reals": random.normal(size=5000), "any": random.integers(0, 2**64, 5000, dtype="u8"), "none": np.zeros(0)}
    path = folder / "columns.h5"
    with h5py.File(path, "w") as file:
        for name, data in columns.items():
            file.create_dataset(name, data=data, chunks=(1000,), maxshape=(None,), compression=32768)
            creation = file[name].id.get_create_plist().copy()
            creation.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (5,))
            space = h5py.h5s.create_simple(data.shape, (h5py.h5s.UNLIMITED,))
            h5py.h5d.create(file.id, f"{name} zstd".encode(), file[name].id.get_type(), space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    with h5py.File(path) as file:
        for name, data in columns.items():
            for stored in (file[name], file[f"{name} zstd"]):
                if stored[:].tobytes() != data.tobytes():
                    yield f"{stored.name} does not come back"
        if not file["lines zstd"].id.get_storage_size() <= file["lines"].id.get_storage_size() < 0.4 * columns["lines"].nbytes:
            yield "the filters do not pack"
    with h5py.File(path, "r+") as file:
        mask, chunk = file["lines"].id.read_direct_chunk((1000,))
        file["lines"].id.write_direct_chunk((1000,), chunk[:100] + bytes([chunk[100] ^ 1]) + chunk[101:], mask)
    with h5py.File(path) as file:
        try:
            file["lines"][:]
            yield "a flipped bit went unnoticed"
        except OSError:
            pass
    # What is no column of eight-byte numbers is stored as it is.
    with h5py.File(path, "a") as file:
        file.create_dataset("narrow", data=np.arange(100, dtype="u4"), chunks=(10,), compression=32768)
        file.flush()
        if not np.array_equal(file["narrow"][:], np.arange(100)):
            yield "numbers of four bytes do not come back"


def check_refusal(commands, folder):
    """A container without its filters is refused in words."""
    tool("h5repack", "-f", "NONE", folder / "t.blco", folder / "plain.blco")
    process = commands.start("blco-info", folder / "plain.blco")
    if "does not have the filters" not in process.communicate()[0] or process.returncode != 4:
        yield "a container without its filters is not refused"


def check_symbols(plugins):
    for plugin in plugins.glob("*.so"):
        symbols = [line.split() for line in tool("nm", "-D", plugin).splitlines()]
        defined = {words[-1] for words in symbols if words[-2] not in ("U", "w")}
        if defined != {"H5PLget_plugin_info", "H5PLget_plugin_type"}:
            yield f"{plugin.name} shows {defined}"
        if any(words[-1].startswith("H5") for words in symbols if words[-2] == "U"):
            yield f"{plugin.name} needs an HDF5 of its own"


def main():
    commands, data = Commands(sys.argv[1]), pathlib.Path(sys.argv[4])
    failures = 0

    def report(what, problems):
        nonlocal failures
        problems = list(problems)
        failures += len(problems)
        print(f"{'FAIL' if problems else 'ok  '} {what}", *(f"\n     {problem}" for problem in problems), sep="", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        report("symbols", check_symbols(pathlib.Path(sys.argv[2])))
        report("h5py writes columns", check_writing(folder))
        for name, options in GENERATED.items():
            commands.run("blco-gen", *options.split(), "-o", folder / "in.tns")
            report(name, check(commands, folder, folder / "in.tns"))
        report("filters taken away", check_refusal(commands, folder))
        real = sorted(data.glob("*.tns.gz")) if data.is_dir() else []
        for text in real:
            report(text.name, check(commands, folder, text))
    if failures:
        sys.exit(f"{failures} checks failed")
    if not real:
        skip(f"no real tensors at {data}; the generated ones are right")


main()
