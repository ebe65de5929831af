#!/usr/bin/env python3
"""Runs one command-line case and compares what it prints and returns with what is expected.

usage: run_case.py BIN_FOLDER cases/NAME.sh [--update]

The script runs in an empty folder with BIN_FOLDER first in PATH. Its stdout and stderr together are NAME.out and its exit
code is in NAME.code, "0" if there is none. Times, the folder's name and the reason why there is no GPU
are replaced, since they differ from run to run and from build to build.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(bin_folder, script):
    with tempfile.TemporaryDirectory(prefix="blco-case-") as folder:
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", LC_ALL="C")
        functions = script.parent.parent / "case_functions.sh"
        command = ["bash", "-u", "-c", 'source "$0"; source "$1"', functions, script]
        result = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = result.stdout.decode("utf-8", "backslashreplace").replace(folder, "TMP")
    text = re.sub(r"no GPU: .*?(?=; (?:computing|measuring)|$)", "no GPU: REASON", text, flags=re.MULTILINE)
    return re.sub(r"\b\d+\.\d\d s\b", "T s", text), result.returncode


def main():
    bin_folder, script = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    output_file, code_file = script.with_suffix(".out"), script.with_suffix(".code")
    output, code = run(bin_folder, script)
    if sys.argv[3:] == ["--update"]:
        output_file.write_text(output, encoding="utf-8")
        code_file.unlink(missing_ok=True)
        if code != 0:
            code_file.write_text(f"{code}\n", encoding="utf-8")
        return 0
    if code == SKIPPED:
        print(output, end="")
        return SKIPPED
    expected = output_file.read_text(encoding="utf-8")
    expected_code = int(code_file.read_text(encoding="utf-8")) if code_file.exists() else 0
    if output != expected:
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), output.splitlines(True), "expected", "actual"))
    if code != expected_code:
        print(f"exit code {code}, expected {expected_code}")
    return 0 if output == expected and code == expected_code else 1


sys.exit(main())
