"""Out of core means out of core: peak memory, bytes read a pass, and the same model as in core, bit for bit.

usage: check_out_of_core.py BIN_FOLDER NONZEROS BUDGET_MIB
"""
import pathlib
import re
import sys
import tempfile

from blco_commands import Commands, mebibytes

SLACK = 64 << 20
SHAPE, ORDER, SWEEPS, CHUNK_NNZ = "30000x20000x10000", 3, 2, 1 << 18
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def packed_bytes(commands, container):
    output, _ = commands.run("blco-info", container)
    nnz = int(re.search(r"^nonzeros\s+([\d,]+)", output, re.M).group(1).replace(",", ""))
    streamed_bits = float(re.search(r"^both\s+[\d.]+\s+[\d.]+\s+([\d.]+)", output, re.M).group(1))
    return streamed_bits * nnz / 8


def parse_size(text):
    """Bytes of "1.5 GiB", and by how much the printing may have rounded them."""
    size, unit = text.split()
    return float(size) * UNITS[unit], 0.051 * UNITS[unit]


def bytes_a_pass(output):
    planned, planned_error = parse_size(re.search(r"(\S+ \w+) read per pass", output).group(1))
    sweeps = re.findall(r"^sweep .* read (\S+ \w+)$", output, re.M)
    assert len(sweeps) == SWEEPS
    for sweep in sweeps[1:]:
        read, error = parse_size(sweep)
        assert abs(read - ORDER * planned) <= ORDER * planned_error + error, "a sweep read what was not planned"
    return planned


def main():
    commands, nnz, budget = Commands(sys.argv[1]), sys.argv[2], int(sys.argv[3]) << 20
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        container = folder / "tensor.blco"
        commands.run("blco-gen", "--shape", SHAPE, "--nnz", nnz, "--skew", 2, "--noise", 1, "--chunk-nnz", CHUNK_NNZ,
                     "--compression", "none", "-o", container)
        fixed = [container, "--rank", 4, "--sweeps", SWEEPS, "--tolerance", 0, "--threads", 1, "--momentum", "off"]
        _, ample = commands.run("blco-cpd", *fixed, "-o", folder / "ample.h5")
        output, peak = commands.run("blco-cpd", *fixed, "--memory", budget, "-o", folder / "small.h5")

        packed = packed_bytes(commands, container)
        read_a_pass = bytes_a_pass(output)
        same = (folder / "ample.h5").read_bytes() == (folder / "small.h5").read_bytes()
    print(output)
    print(f"packed {mebibytes(packed):.0f} MiB, budget {mebibytes(budget):.0f} MiB, peak {mebibytes(peak):.0f} MiB"
          f" (in core {mebibytes(ample):.0f} MiB), read {mebibytes(read_a_pass):.0f} MiB a pass, same model: {same}")
    assert packed >= 4 * budget, "the tensor is too small for this budget"
    assert peak <= budget + SLACK, "peak resident memory is over the budget"
    assert read_a_pass >= packed - budget, "fewer bytes were read than cannot be in memory"
    assert same, "the models differ"


main()
