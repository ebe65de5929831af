#!/usr/bin/env python3
"""Damages small containers, models and checkpoints in thousands of ways, and runs the commands on each.

usage: check_damaged_files.py BIN_FOLDER [SCALE [SEED]]

A run is either refused, in one line and with an exit code of its own, or gives the same result as the whole file: no
crash, no hang, no file left behind. Every damage follows from the seed; SCALE multiplies their number (the
build's test takes an eighth, or all with BLCO_FULL_TESTS).
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "engine"))
from method_jobs import METHOD_JOBS, fit_arguments, make_method_tensors  # noqa: E402

SEED = 20220628
LIMIT_SECONDS = 60
# HDF5 1.10 leaks what it cannot decode; a sanitizer looks for everything else.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
REFUSALS = {2: "invalid argument", 3: "io", 4: "corrupt"}


def flipped_bit(data, at, _):
    return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:]


def zeroed(data, at, random_source):
    length = random_source.choice((16, 512, 4096))
    return data[:at] + bytes(min(length, len(data) - at)) + data[at + length:]


def overwritten(data, at, random_source):
    length = min(random_source.choice((1, 8, 64)), len(data) - at)
    return data[:at] + random_source.randbytes(length) + data[at + length:]


def truncated(data, at, _):
    return data[:at]


def without_some_bytes(data, at, random_source):
    return data[:at] + data[at + random_source.choice((1, 8, 4096)):]


def damages(data, counts, seed):
    """(what, damaged bytes), the places of each kind spread evenly over the file."""
    random_source = random.Random(seed)
    for damage, count in counts.items():
        for i in range(count):
            at = (2 * i + 1) * len(data) // (2 * count)
            at = min(len(data) - 1, max(0, at + random_source.randint(-len(data) // (2 * count), len(data) // (2 * count))))
            yield f"{damage.__name__} at byte {at}", damage(data, at, random_source)


def without_trailer(data):
    """As a tool of HDF5's own leaves the file: the superblock says where its data end."""
    return data[:int.from_bytes(data[28:36], "little")]


class Job:
    """A command on a file that is to be damaged, and what it gives on the whole one."""

    def __init__(self, bin_folder, folder, name, data, arguments, compares=True):
        self.bin_folder, self.folder, self.name, self.data = bin_folder, folder, name, data
        self.arguments, self.compares = arguments, compares
        outcome, self.expected = self.run("whole", data)
        assert outcome == "same", (name, outcome, self.expected)

    def run(self, label, data):
        """What became of it, and the result or the message."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            (pathlib.Path(folder) / "input").write_bytes(data)
            tool, *arguments = self.arguments
            command = [os.path.join(self.bin_folder, tool), *arguments]
            try:
                done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=LIMIT_SECONDS,
                                      check=False)
            except subprocess.TimeoutExpired:
                return "HANG", ""
            message = done.stderr.decode(errors="replace")
            output = pathlib.Path(folder) / "output"
            left = sorted(set(os.listdir(folder)) - {"input"})
            if done.returncode == 0:
                result = output.read_bytes() if "output" in left else done.stdout
                same = label == "whole" or not self.compares or result == self.expected
                return ("same", result) if same else ("SILENTLY WRONG", "")
            if done.returncode not in REFUSALS:
                return f"CRASH ({done.returncode})", message
            if left or len(message.splitlines()) != 1 or not message.startswith(tool + ": "):
                return "UNCLEAN REFUSAL", f"{left} {message}"
            return REFUSALS[done.returncode], message

    def check(self, counts, seed):
        """Prints what became of all damages; returns those that are neither the same nor refused."""
        return self.check_all(list(damages(self.data, counts, seed)), {"same", *REFUSALS.values()})

    def check_cuts(self):
        """Same for cuts at every 512th byte and before the trailer, each of which must be refused."""
        lengths = sorted({*range(0, len(self.data), 512), len(without_trailer(self.data))})
        return self.check_all([(f"cut at byte {at}", self.data[:at]) for at in lengths], set(REFUSALS.values()))

    def check_all(self, todo, accepted):
        tally, failures = collections.Counter(), []
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for (what, _), (outcome, text) in zip(todo, pool.map(lambda case: self.run(*case), todo)):
                tally[outcome] += 1
                if outcome not in accepted:
                    failures.append(f"{self.name}, {what}: {outcome} {text}")
        print(f"{self.name}: {len(self.data)} bytes;", ", ".join(f"{n} {outcome}" for outcome, n in sorted(tally.items())),
              flush=True)
        return failures


def runner(bin_folder, folder):
    def run(tool, *arguments):
        subprocess.run([os.path.join(bin_folder, tool), *map(str, arguments)], cwd=folder, check=True,
                       capture_output=True)
    return run


def checkpoint_jobs(bin_folder, folder):
    """Per method, a fit that goes on from a checkpoint, and the same from one that another tool has written."""
    run = runner(bin_folder, folder)
    make_method_tensors(run, folder, (20, 15, 12), 400, 128)
    for name in METHOD_JOBS:
        run("blco-cpd", *fit_arguments(name, folder, 3, 2, "--checkpoint", "fit.ckpt", "-o", "fit.h5"))
        data = (folder / "fit.ckpt").read_bytes()
        resume = ["blco-cpd", *map(str, fit_arguments(name, folder, 3, 3, "--resume", "input", "-o", "output"))]
        yield Job(bin_folder, folder, f"checkpoint of {name}", data, resume), (60, 20)
        # Its numbers have no checksum and are taken as they are, unless no fit writes such ones.
        yield Job(bin_folder, folder, "the same without trailer", without_trailer(data), resume, False), (120, 40)


def make_inputs(bin_folder, folder):
    """Containers without and with a key column, and with copies, a model, a container for that model, and both with labels."""
    run = runner(bin_folder, folder)
    run("blco-gen", "--shape", "60x50x40", "--nnz", "900", "--chunk-nnz", "300", "--seed", "3", "-o", "three.blco")
    run("blco-gen", "--shape", "x".join(["20"] * 14), "--nnz", "200", "--counts", "--compression", "fast", "-o", "keys.blco")
    run("blco-cpd", "three.blco", "--rank", "3", "--sweeps", "2", "--threads", "1", "-o", "model.h5")
    run("blco-ingest", "three.blco", "--orders", "0,2", "-o", "copies.blco")
    rows = [f"user {i % 37},item {i * i % 23},{i % 5 + 1}" for i in range(300)]
    (folder / "table.csv").write_text("\n".join(["user,item,count", *rows]) + "\n", encoding="utf-8")
    run("blco-ingest", "table.csv", "--modes", "user,item", "--value", "count", "-o", "labels.blco")
    run("blco-cpd", "labels.blco", "--rank", "2", "--sweeps", "2", "--threads", "1", "-o", "labels.h5")
    names = ("copies.blco", "three.blco", "keys.blco", "model.h5", "labels.blco", "labels.h5")
    return {name: (folder / name).read_bytes() for name in names}


def main():
    bin_folder = os.path.abspath(sys.argv[1])
    scale = float(sys.argv[2]) if len(sys.argv) > 2 else 1
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else SEED

    def counts(flips, others):
        kinds = {zeroed: others, overwritten: others, truncated: others // 2, without_some_bytes: others // 2}
        return {kind: max(1, int(scale * n)) for kind, n in {flipped_bit: flips, **kinds}.items()}

    with tempfile.TemporaryDirectory(prefix="blco-damage-") as temporary:
        folder = pathlib.Path(temporary)
        whole = make_inputs(bin_folder, folder)
        fit = ["blco-cpd", "input", "--rank", "2", "--sweeps", "2", "--threads", "1", "-o", "output"]
        resume = ["blco-cpd", str(folder / "three.blco"), "--rank", "3", "--sweeps", "1", "--threads", "1",
                  "--init", "input", "-o", "output"]
        bare = {name: without_trailer(data) for name, data in whole.items()}

        def job(name, data, command, compares=True):
            return Job(bin_folder, folder, name, data, command, compares)
        failures = []
        for name in ("three.blco", "keys.blco", "copies.blco", "labels.blco"):
            failures += job(f"check of {name}", whole[name], ["blco-info", "input", "--verify"]).check_cuts()
        failures += job("container", whole["three.blco"], fit).check(counts(1000, 100), seed)
        failures += job("container with keys", whole["keys.blco"], fit).check(counts(100, 40), seed)
        failures += job("container without trailer", bare["three.blco"], fit).check(counts(200, 100), seed)
        failures += job("model", whole["model.h5"], ["blco-info", "input"]).check(counts(300, 100), seed)
        failures += job("initial model", whole["model.h5"], resume).check(counts(100, 40), seed)
        # Factors of a model that another tool has written have no checksum: their numbers are taken as they are.
        failures += job("model without trailer", bare["model.h5"], ["blco-info", "input"], False).check(counts(200, 100), seed)
        export = ["blco-export", "input", "-o", "-", "--format", "csv"]
        of_copy = [*export, "--order-of", "2"]
        failures += job("copies in orders of modes", whole["copies.blco"], of_copy).check(counts(300, 100), seed)
        failures += job("copies without trailer", bare["copies.blco"], of_copy).check(counts(200, 100), seed)
        failures += job("labelled container", whole["labels.blco"], export).check(counts(150, 40), seed)
        failures += job("labelled container without trailer", bare["labels.blco"], export).check(counts(400, 100), seed)
        predict = ["blco-predict", str(folder / "labels.h5"), "input", "-o", "-", "--quiet"]
        failures += job("labelled entries", whole["labels.blco"], predict).check(counts(60, 20), seed)
        failures += job("labelled model", whole["labels.h5"], ["blco-info", "input"]).check(counts(60, 20), seed)
        failures += job("labelled model without trailer", bare["labels.h5"], ["blco-info", "input"], False).check(
            counts(200, 100), seed)
        for resumed, (flips, others) in checkpoint_jobs(bin_folder, folder):
            failures += resumed.check(counts(flips, others), seed)
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
