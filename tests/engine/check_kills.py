"""A killed blco-ingest leaves no container or a whole one, and the next run removes what is left of it.

usage: check_kills.py BIN_FOLDER
"""
import pathlib
import random
import sys
import tempfile
import time

from blco_commands import Commands

KILLS = 20
BUDGET = "24MiB"
CHUNK = 50000


def names_in(*folders):
    return sorted(path.name for folder in folders for path in folder.iterdir())


def main():
    commands, draw = Commands(sys.argv[1]), random.Random(20)
    with tempfile.TemporaryDirectory() as temporary:
        work, spill = pathlib.Path(temporary) / "work", pathlib.Path(temporary) / "spill"
        work.mkdir()
        spill.mkdir()
        text, container = pathlib.Path(temporary) / "in.tns", work / "out.blco"
        commands.run("blco-gen", "--shape", "50000x40000x30000", "--nnz", 1500000, "--skew", 2, "-o", text)
        job = ["blco-ingest", text, "--memory", BUDGET, "--chunk-nnz", CHUNK, "--tmp", spill, "-o", container, "--quiet"]

        start = time.monotonic()
        commands.run(*job)
        seconds = time.monotonic() - start
        expected = container.read_bytes()
        seen = {"nothing": 0, "half": 0, "spilled": 0, "whole": 0}
        for kill in range(KILLS):
            container.unlink(missing_ok=True)
            process = commands.start(*job)
            # The last ones late, so that some are near the end, or behind it.
            time.sleep(seconds * (draw.random() if kill < KILLS - 4 else draw.uniform(0.9, 1.2)))
            process.kill()
            process.communicate()
            if container.exists():
                commands.run("blco-info", container, "--verify")
                seen["whole"] += 1
            seen["half"] += any(name.endswith(".blco-tmp") for name in names_in(work))
            seen["spilled"] += any(name.endswith(".blco-spill") for name in names_in(spill))
            seen["nothing"] += names_in(work, spill) == []

            if kill % 4 == 3:
                commands.run(*job)
                if names_in(work, spill) != ["out.blco"]:
                    sys.exit(f"left after kill {kill} and a whole run: {names_in(work, spill)}")
                if container.read_bytes() != expected:
                    sys.exit(f"after kill {kill} the container differs")
        print(f"{KILLS} kills of a job of {seconds:.2f} s: " + ", ".join(f"{n} {what}" for what, n in seen.items()))
        if seen["spilled"] == 0:
            sys.exit("no kill met a job that had spilled; the test tests nothing")


main()
