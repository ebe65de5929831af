"""Killed jobs leave nothing or whole files, and the next job removes what is left of them.

usage: check_kills.py BIN_FOLDER

A killed blco-ingest leaves no container or a whole one. A fit of any method that is killed again and again, and resumed
from its checkpoint each time, gives the model file of a fit that was left alone, byte for byte.
"""
import pathlib
import random
import re
import sys
import tempfile
import time

from blco_commands import Commands
from method_jobs import METHOD_JOBS, fit_arguments, make_method_tensors

INGEST_KILLS, FIT_KILLS, MOST_FIT_KILLS = 20, 4, 80
KILLS_WITH_MOMENTUM = 20
BUDGET = "24MiB"
CHUNK = 50000
RANK, SWEEPS = 6, 12
LATE = 8  # sweeps of a late checkpoint: one that has a past


def names_in(*folders):
    return sorted(path.name for folder in folders for path in folder.iterdir())


def run_and_kill(commands, seconds, *job):
    process = commands.start(*job)
    time.sleep(seconds)
    process.kill()
    process.communicate()


def seconds_of(commands, *job):
    start = time.monotonic()
    commands.run(*job)
    return time.monotonic() - start


def in_words(seen):
    return ", ".join(f"{n} {what}" for what, n in seen.items())


def check_ingest(commands, draw, folder):
    work, spill = folder / "work", folder / "spill"
    work.mkdir()
    spill.mkdir()
    text, container = folder / "in.tns", work / "out.blco"
    commands.run("blco-gen", "--shape", "50000x40000x30000", "--nnz", 1500000, "--skew", 2, "-o", text)
    job = ["blco-ingest", text, "--memory", BUDGET, "--chunk-nnz", CHUNK, "--tmp", spill, "-o", container, "--orders", 1,
           "--quiet"]

    seconds = seconds_of(commands, *job)
    expected = container.read_bytes()
    seen = {"nothing": 0, "half": 0, "spilled": 0, "whole": 0}
    for kill in range(INGEST_KILLS):
        container.unlink(missing_ok=True)
        # The last ones late, so that some are near the end, or behind it.
        share = draw.random() if kill < INGEST_KILLS - 4 else draw.uniform(0.9, 1.2)
        run_and_kill(commands, seconds * share, *job)
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
    print(f"{INGEST_KILLS} kills of an ingest of {seconds:.2f} s: {in_words(seen)}", flush=True)
    if seen["spilled"] == 0:
        sys.exit("no kill met a job that had spilled; the test tests nothing")


def check_fit(commands, draw, tensors, work, name):
    """Kills a fit until enough kills met it under way, with a checkpoint behind it, the last one late. Resumed, it has
    the least memory every other time: on one thread that changes no bit."""
    work.mkdir()
    model, checkpoint = work / "model.h5", work / "fit.ckpt"
    job = fit_arguments(name, tensors, RANK, SWEEPS, "--checkpoint", checkpoint, "-o", model)
    resume = fit_arguments(name, tensors, RANK, SWEEPS, "--resume", checkpoint, "--checkpoint", checkpoint, "-o", model)
    seconds = seconds_of(commands, "blco-cpd", *job)
    expected = model.read_bytes()
    # As a kill leaves them between the last checkpoint and the model.
    model.unlink()
    commands.run("blco-cpd", *resume)
    if model.read_bytes() != expected:
        sys.exit(f"{name}: resumed after its last sweep, the fit gives another model")
    model.unlink()
    checkpoint.unlink()
    enough = KILLS_WITH_MOMENTUM if name == "als" else FIT_KILLS
    least = ["--memory", commands.min_budget(*fit_arguments(name, tensors, RANK, SWEEPS))]

    seen = {"before the first checkpoint": 0, "under way": 0, "half a file": 0, "after the end": 0}
    for kill in range(MOST_FIT_KILLS):
        resumed = [*resume, *least[:2 * (kill % 2)]] if checkpoint.exists() else job
        # Ever longer, so that a machine that has become slower gets to the end too.
        run_and_kill(commands, seconds * draw.uniform(0, 0.5 + kill / 20), "blco-cpd", *resumed)
        seen["half a file"] += any(name.endswith(".blco-tmp") for name in names_in(work))
        if model.exists():
            seen["after the end"] += 1
            if model.read_bytes() != expected:
                sys.exit(f"{name}: after kill {kill} the model differs from that of a fit that was left alone")
            model.unlink()
            checkpoint.unlink()
        elif checkpoint.exists():
            seen["under way"] += 1
            information, _ = commands.run("blco-info", checkpoint)
            sweeps = int(re.search(r"^sweeps +(\d+)", information, re.MULTILINE).group(1))
            if seen["under way"] >= enough and sweeps >= LATE:
                break
        else:
            seen["before the first checkpoint"] += 1
    else:
        sys.exit(f"{name}: too few kills met a fit under way, or none late; the test tests nothing: {in_words(seen)}")
    print(f"{name}: a fit of {seconds:.2f} s, killed: {in_words(seen)}", flush=True)
    commands.run("blco-cpd", *resume)
    if names_in(work) != ["fit.ckpt", "model.h5"]:
        sys.exit(f"{name}: left after {kill + 1} kills and a whole run: {names_in(work)}")
    if model.read_bytes() != expected:
        sys.exit(f"{name}: after {kill + 1} kills the model differs from that of a fit that was left alone")


def main():
    commands, draw = Commands(sys.argv[1]), random.Random(20)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        check_ingest(commands, draw, folder)
        make_method_tensors(commands.run, folder, (120, 100, 80), 30000, 4000)
        for number, name in enumerate(METHOD_JOBS):
            check_fit(commands, draw, folder, folder / f"fit{number}", name)


main()
