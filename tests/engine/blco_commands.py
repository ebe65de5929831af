"""Runs blco's command lines for the Python tests, and skips in words where something is missing."""
import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


class Commands:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def start(self, name, *arguments):
        command = [str(self.folder / name), *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, name, *arguments):
        """Output and peak resident bytes; a failure ends the test with what the command said."""
        process = self.start(name, *arguments)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{name} {' '.join(map(str, arguments))} ended with {process.returncode}:\n{output}")
        return output, usage.ru_maxrss * 1024

    def min_budget(self, tensor, *arguments):
        """The smallest --memory that blco-cpd names."""
        process = self.start("blco-cpd", tensor, *arguments, "--memory", "1K", "-o", f"{tensor}.none")
        output, _ = process.communicate()
        found = re.search(r"give at least --memory (\d+)([KM])iB", output)
        if process.returncode != 5 or not found:
            sys.exit(f"blco-cpd did not name its smallest budget:\n{output}")
        return int(found.group(1)) << {"K": 10, "M": 20}[found.group(2)]


def mebibytes(count):
    return count / (1 << 20)
