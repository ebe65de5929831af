#!/usr/bin/env python3
"""Finds nvdisasm, NVIDIA's disassembler: in the toolkit, in PATH, in the build folder, or on PyPI (4 MB).

usage: find_nvdisasm.py NVCC BUILD      prints its path; exits with 77 and says why where there is none
"""
import os
import pathlib
import shutil
import subprocess
import sys

# The disassembler reads cubins of older toolkits as well; where none is installed, this version is taken.
PACKAGE = "nvidia-cuda-nvdisasm==13.2.86"
SKIPPED = 77


def working(path):
    """The path, if a disassembler runs there."""
    if not path or not os.access(path, os.X_OK):
        return None
    result = subprocess.run([path, "--version"], capture_output=True, check=False)
    return str(path) if result.returncode == 0 else None


def pythons():
    """Interpreters that may have pip: Debian's has none unless python3-pip is installed."""
    found = [sys.executable, *(shutil.which("python3", path=folder) for folder in os.get_exec_path())]
    return list(dict.fromkeys(path for path in found if path))


def install(folder):
    """Lets pip unpack the package into `folder`; returns why that failed, or None."""
    reason = "no python3 here has pip"
    for python in pythons():
        if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
            continue
        result = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-input",
             "--retries", "1", "--timeout", "15", "--target", str(folder), PACKAGE],
            capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return None
        lines = result.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"pip ends with {result.returncode}"
    return reason


def find(nvcc, build):
    """(path of nvdisasm or None, why there is none)."""
    unpacked = pathlib.Path(build) / "nvdisasm"
    for path in (pathlib.Path(nvcc).parent / "nvdisasm" if nvcc else None, shutil.which("nvdisasm"),
                 *unpacked.glob("nvidia/cu*/bin/nvdisasm")):
        if working(path):
            return str(path), None
    reason = install(unpacked)
    for path in unpacked.glob("nvidia/cu*/bin/nvdisasm"):
        path.chmod(0o755)
        if working(path):
            return str(path), None
    return None, (f"no nvdisasm in the CUDA toolkit or PATH, and {PACKAGE} could not be installed (pip: {reason}). "
                  f"By hand: pip install --target {unpacked} {PACKAGE}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, reason = find(sys.argv[1], sys.argv[2])
    print(path or f"SKIPPED: {reason}")
    return 0 if path else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
