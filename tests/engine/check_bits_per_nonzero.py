"""Prints bits per nonzero of index and value, as stored, cached and streamed, and holds them to what the format was measured to take.

usage: check_bits_per_nonzero.py BIN_FOLDER DATA_FOLDER
"""
import math
import pathlib
import re
import sys
import tempfile

from blco_commands import Commands, skip

# Index bits measured for patched frames when the format was designed; one more is allowed.
EXPECTED = {"nips12": 20.6, "icews18": 25.1, "uber-head": 10.7, "darpa1998-3d": 20.5, "darpa1998-5d": 22.9, "unhcr": 8.9}
UNIFORM = {66: "4194304x4194304x4194304", 75: "33554432x33554432x33554432",
           88: "1073741824x268435456x1073741824", 128: "4294967296x4294967296x4294967296x4294967296"}
UNIFORM_NNZ = 1_000_000
MOST_BYTES_ON_AVERAGE = 3.0


def bits_of(commands, container):
    """(index, value) pairs as stored and as cached or streamed, and the number of nonzeros."""
    output, _ = commands.run("blco-info", container)
    nnz = int(re.search(r"^nonzeros\s+([\d,]+)", output, re.M).group(1).replace(",", ""))
    rows = {}
    for row in ("index", "value"):
        numbers = re.search(rf"^{row}\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", output, re.M)
        rows[row] = [float(number) for number in numbers.groups()]
    return rows["index"], rows["value"], nnz


def print_row(name, nnz, index, value, limit):
    cells = " ".join(f"{bits:7.2f}" for bits in (*index, *value))
    print(f"{name:14} {nnz:9} {cells}   {limit:6.2f}")


def main():
    commands, data = Commands(sys.argv[1]), pathlib.Path(sys.argv[2])
    failures, total_bytes, checked = [], 0.0, 0
    print("                          index: stored, cached, streamed   value: the same         index at most")
    with tempfile.TemporaryDirectory() as folder:
        container = pathlib.Path(folder) / "tensor.blco"
        for name, expected in EXPECTED.items() if data.is_dir() else ():
            commands.run("blco-ingest", data / f"{name}.tns.gz", "-o", container)
            index, value, nnz = bits_of(commands, container)
            print_row(name, nnz, index, value, expected + 1)
            failures += [name] if max(index) > expected + 1 else []
            total_bytes += (max(index) + max(value)) / 8
            checked += 1
        for bits, shape in UNIFORM.items():
            commands.run("blco-gen", "--shape", shape, "--nnz", UNIFORM_NNZ, "--skew", 1, "--rank", 0, "--noise", 0, "-o", container)
            index, value, nnz = bits_of(commands, container)
            limit = bits - math.log2(nnz) + 3.5
            print_row(f"uniform {bits}", nnz, index, value, limit)
            failures += [f"uniform {bits}"] if max(index) > limit else []
    if checked:
        average = total_bytes / checked
        print(f"index and value of the real tensors: {average:.2f} bytes on average, at most {MOST_BYTES_ON_AVERAGE}")
        failures += ["average"] if average > MOST_BYTES_ON_AVERAGE else []
    if not failures and not checked:
        skip(f"no real tensors at {data}; the generated ones are within their limits")
    sys.exit(f"over the limit: {', '.join(failures)}" if failures else 0)


main()
