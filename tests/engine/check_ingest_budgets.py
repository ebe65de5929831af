"""blco-ingest and blco-gen keep any budget, and make the same container with each, on one thread and on many.

usage: check_ingest_budgets.py BIN_FOLDER
"""
import hashlib
import os
import pathlib
import sys
import tempfile
import threading
import time

from blco_commands import Commands, mebibytes

MEBIBYTE = 1 << 20
# Beside the pages of the program and its libraries, which are files.
SLACK = 8 * MEBIBYTE


def peak_of(commands, *job):
    """Peak resident bytes that are not pages of files."""
    process, file_bytes = commands.start(*job), [0]

    def watch():
        try:
            while True:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                    lines = [line.split() for line in status if line.startswith("RssFile:")]
                file_bytes[0] = max(file_bytes[0], int(lines[0][1]) * 1024)
                time.sleep(0.005)
        except (OSError, IndexError):
            pass  # it has ended

    watcher = threading.Thread(target=watch)
    watcher.start()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, job))} ended with {process.returncode}:\n{output}")
    return usage.ru_maxrss * 1024 - file_bytes[0]


def digest_of(path):
    """Read piece by piece: a child's peak memory begins with that of its parent."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(MEBIBYTE):
            digest.update(piece)
    return digest.hexdigest()


def main():
    commands, failures = Commands(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        text, container = folder / "in.tns", folder / "out.blco"
        commands.run("blco-gen", "--shape", "500000x300000x200000", "--nnz", 2500000, "--skew", 3, "-o", text)
        labels = folder / "labels.map"
        with labels.open("w", encoding="utf-8") as lines:
            lines.writelines(f"index number {i}\n" for i in range(300000))
        wide = ["--shape", "5000000x2000000x2000000", "--nnz", 5000000, "--skew", 3, "--counts"]
        # Read twice, so that values that are no whole numbers meet their duplicates in other runs.
        cases = {
            "text": ["blco-ingest", text, text],
            "text, shape": ["blco-ingest", text, text, "--shape", "500000x300000x200000"],
            "labels, orders": ["blco-ingest", text, text, "--labels", f"1={labels}", "--orders", "auto"],
            "wide, an order": ["blco-gen", *wide, "--orders", 1],
            "reordered": ["blco-ingest", text, text, "--reorder", "frequency"],
            "reordered, shape": ["blco-ingest", text, text, "--reorder", "frequency", "--shape", "500000x300000x200000"],
        }
        for name, job in cases.items():
            digests = set()
            for budget, threads in ((64, 2), (64, 16), (2048, 16)):
                options = ["--memory", f"{budget}MiB", "--threads", threads, "-o", container]
                peak = peak_of(commands, *job, *options)
                digests.add(digest_of(container))
                print(f"{name:16} budget {budget:5} MiB, {threads} threads, peak {mebibytes(peak):6.1f} MiB")
                if peak > budget * MEBIBYTE + SLACK:
                    failures.append(f"{name}: {budget} MiB were exceeded")
            if len(digests) != 1:
                failures.append(f"{name}: {len(digests)} different containers")
    sys.exit("; ".join(failures) if failures else 0)


main()
