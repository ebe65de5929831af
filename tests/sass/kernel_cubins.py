"""Compiles kernels for sm_90, and what the compiler says of them: registers, spills, shared memory."""
import dataclasses
import hashlib
import pathlib
import re
import subprocess

import machine_code

# As the library's, with the source lines beside the code; they change none of it.
FLAGS = ["-arch=sm_90", "-std=c++20", "-O3", "-DNDEBUG", "-lineinfo", "-cubin", "-Xptxas", "-v"]
SOURCES = ("kernels/cuda/*.cuh", "kernels/*.hpp", "kernels/cuda/*.hpp", "blco/*.hpp")

# An H100's multiprocessor.
REGISTERS_OF_QUARTER = 16384
QUARTERS = 4
REGISTERS_UNIT = 256  # of a warp
SHARED_BYTES = 228 << 10
SHARED_UNIT = 128
RESERVED_BYTES_PER_BLOCK = 1 << 10
MAX_WARPS = 64
MAX_BLOCKS = 32


@dataclasses.dataclass
class Kernel:
    """A kernel's program and its needs."""

    program: machine_code.Program
    registers: int
    spilled_bytes: int  # stored and loaded
    static_shared_bytes: int

    def resident_warps(self, threads, dynamic_shared_bytes):
        """Warps of a multiprocessor at once, in blocks of so many threads."""
        warps = threads // 32
        registers = -(-self.registers * 32 // REGISTERS_UNIT) * REGISTERS_UNIT
        shared = self.static_shared_bytes + dynamic_shared_bytes + RESERVED_BYTES_PER_BLOCK
        blocks = min(QUARTERS * (REGISTERS_OF_QUARTER // registers) // warps,
                     SHARED_BYTES // (-(-shared // SHARED_UNIT) * SHARED_UNIT), MAX_WARPS // warps, MAX_BLOCKS)
        return blocks * warps


def nvcc_version(nvcc):
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release ([\d.]+), V([\d.]+)", text).group(2)


def compile_cubin(nvcc, root, source, build):
    """The cubin and the compiler's report, from the last run where nothing has changed."""
    root, build = pathlib.Path(root), pathlib.Path(build)
    command = [nvcc, *FLAGS, f"-I{root}", str(source)]
    digest = hashlib.sha256(" ".join([*command, nvcc_version(nvcc)]).encode())
    for path in (pathlib.Path(source), *(path for pattern in SOURCES for path in sorted(root.glob(pattern)))):
        digest.update(path.read_bytes())
    cubin = build / (pathlib.Path(source).stem + ".cubin")
    report, stamp = cubin.with_suffix(".ptxas"), cubin.with_suffix(".sha256")
    if not stamp.exists() or stamp.read_text() != digest.hexdigest():
        result = subprocess.run([*command, "-o", str(cubin)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{result.stderr}")
        report.write_text(result.stdout + result.stderr, encoding="utf-8")
        stamp.write_text(digest.hexdigest())
    return cubin, report.read_text(encoding="utf-8")


def _number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def load(nvcc, nvdisasm, root, source, build, wanted=None):
    """{mangled name: Kernel}; of the names in `wanted` only, if given."""
    cubin, report = compile_cubin(nvcc, root, source, build)
    programs = machine_code.disassemble(nvdisasm, cubin, wanted)
    parts = re.split(r"Compiling entry function '(\w+)' for 'sm_90'", report)
    kernels = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        if name in programs:
            spilled = _number(r"(\d+) bytes spill stores", text) + _number(r"(\d+) bytes spill loads", text)
            kernels[name] = Kernel(programs[name], _number(r"Used (\d+) registers", text), spilled,
                                   _number(r"(\d+) bytes smem", text))
    return kernels
