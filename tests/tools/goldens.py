#!/usr/bin/env python3
"""What two builds write and print, compared byte for byte: containers, models, exports, predictions, figures.

usage: goldens.py SIDE_A SIDE_B [--data FOLDER] [--only PATTERN] [--quick]
       goldens.py BIN_FOLDER --save FOLDER [--data FOLDER] [--only PATTERN] [--quick]

A side is a build's folder of programs, or what --save has kept of one. PATTERN is a regular expression that a job's
name begins with; jobs whose files it needs run too. Every job has a folder of its name. Its files must be the same; so
must its print.txt but for times and speeds. A print that differs in words alone is told apart. Exit code 1: something
differs, or a job failed.
"""
import argparse
import collections
import difflib
import gzip
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np

from golden_jobs import QUICK, choose_jobs, make_inputs, make_jobs, make_method_tensors

HERE = pathlib.Path(__file__).resolve().parent


def run_program(programs, root, name, command):
    """Leaves print.txt beside what the program writes. Returns why it is not as it should be, if so."""
    words = [word.replace("@", name) for word in shlex.split(command)]
    asked = ""

    def run(budget):
        result = subprocess.run([programs / words[0], *(budget if word == "LEAST" else word for word in words[1:])],
                                cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return result.returncode, result.stdout + result.stderr
    if "LEAST" in words:
        _, text = run("1K")
        found = re.search(rb"give (?:at least )?--memory ([\d.]+[KMG]iB)", text)
        if not found:
            return f"{name}: no least memory is named: {text.decode(errors='replace')}"
        asked = found.group(1).decode()
    code, text = run(asked)
    head, end = f"$ {shlex.join(words)}\n{asked}\n", f"exit {code}\n"
    (root / name / "print.txt").write_bytes(head.encode() + text + end.encode())
    if (code != 0) != name.startswith("refused"):
        return f"{name}: exit {code}: {text.decode(errors='replace').strip()}"
    return None


def run_jobs(programs, root, jobs, data):
    def run(program, *words):
        subprocess.run([programs / program, *map(str, words)], check=True)
    if data.exists():
        (root / "data").symlink_to(data)
    failures = []
    for name, command in jobs.items():
        (root / name).mkdir()
        if command:
            failures.append(run_program(programs, root, name, command))
        elif name == "inputs":
            make_inputs(root / name)
        else:
            make_method_tensors(run, root / name, (200, 150, 90), 12000, 3000)
    return [failure for failure in failures if failure]


def printed_figures(text):
    """Without times and speeds."""
    lines = []
    for line in text.splitlines():
        if line.startswith('{"event":'):
            event = json.loads(line, object_hook=lambda o: {key: o[key] for key in o if not key.startswith("seconds")})
            if event["event"] == "progress":
                continue
            line = json.dumps(event)
        line = re.sub(r"\b\d+\.\d\d s\b", "T s", line)
        lines.append(re.sub(r"; \w+ took longest", "", line))
    return "\n".join(lines)


def read_text(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "backslashreplace")
    return printed_figures(text) if path.name == "print.txt" else text


def as_array(value):
    """Texts as such, whether of fixed or of variable length."""
    array = np.asarray(value)
    if array.dtype.kind in "fiu":
        return array
    flat = [text.decode() if isinstance(text, bytes) else text for text in array.ravel().tolist()]
    return np.array(flat, object).reshape(array.shape)


def read_hdf5(path):
    """Datasets, and attributes as an array each; those that need a filter are left out."""
    found = {}

    def visit(name, thing):
        for key, value in thing.attrs.items():
            found[f"{name}@{key}"] = as_array(value)
        if isinstance(thing, h5py.Dataset):
            try:
                found[name] = np.asarray(thing[()])
            except OSError:
                pass
    with h5py.File(path) as file:
        visit("", file)
        file.visititems(visit)
    return found


def relative(a, b):
    """The largest difference, beside the largest number."""
    a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
    scale = max(np.max(np.abs(a), initial=0), np.max(np.abs(b), initial=0))
    return float(np.max(np.abs(a - b), initial=0) / (scale or 1))


def compare_hdf5(path_a, path_b):
    a, b = read_hdf5(path_a), read_hdf5(path_b)
    parts = [f"{name} is in {side} only" for side, names in (("A", a.keys() - b.keys()), ("B", b.keys() - a.keys()))
             for name in sorted(names)]
    for name in sorted(a.keys() & b.keys()):
        if a[name].shape != b[name].shape or a[name].dtype != b[name].dtype:
            parts.append(f"{name}: {a[name].dtype} {a[name].shape} or {b[name].dtype} {b[name].shape}")
        elif a[name].dtype.kind not in "fiu":
            parts += [f"{name}: {a[name]} or {b[name]}"] * (a[name].tolist() != b[name].tolist())
        elif a[name].tobytes() != b[name].tobytes() and "crc" not in name:
            parts.append(f"{name} by {relative(a[name], b[name]):.1e}")
    return "; ".join(parts) or "the same contents, as far as they can be read without filters, in other bytes"


def compare_text(a, b):
    """What differs in words, and whether it is words alone."""
    number = r"-?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    numbers_a, numbers_b = re.findall(number, a), re.findall(number, b)
    if re.sub(number, "0", a) == re.sub(number, "0", b):
        return f"numbers by {relative(numbers_a, numbers_b):.1e}", False
    lines = [line for line in difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=0)
             if line[:3] not in ("---", "+++") and line[:2] != "@@"]
    return "\n    ".join(["", *lines[:6], *["..."] * (len(lines) > 6)]), numbers_a == numbers_b


def compare_files(a, b):
    """None where they are the same; else what differs, and whether it is words alone."""
    if not (a.exists() and b.exists()):
        return f"is in {'A' if a.exists() else 'B'} only", False
    if a.read_bytes() == b.read_bytes():
        return None
    if a.suffix in (".h5", ".blco"):
        return compare_hdf5(a, b), False
    if a.suffix == ".npy":
        x, y = np.load(a), np.load(b)
        return (f"numbers by {relative(x, y):.1e}" if x.shape == y.shape else f"shape {x.shape} or {y.shape}"), False
    if a.suffix in (".zst", ".npz"):
        return "other bytes", False
    text_a, text_b = read_text(a), read_text(b)
    if text_a == text_b:
        return None if a.name == "print.txt" else ("the same text, in other bytes", False)
    words, is_words_alone = compare_text(text_a, text_b)
    return words, is_words_alone and a.name == "print.txt"


def compare_sides(a, b, names):
    """Prints what differs; whether nothing does."""
    counts, words = collections.Counter(), collections.defaultdict(list)
    for name in names:
        files = {file.relative_to(side) for side in (a, b) for file in (side / name).rglob("*") if file.is_file()}
        for path in sorted(files):
            is_help = name.startswith("words-")
            found = compare_files(a / path, b / path)
            counts["words" if is_help else "files", found is None or (found[1] and not is_help)] += 1
            if found and found[1]:
                words[found[0]].append(name)
            elif found:
                print(f"{path}: {found[0]}")
    for text, places in words.items():
        print(f"words of {places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''}:{text}")
    print(f"{counts['files', True]} same, {counts['files', False]} differ; pages of help: {counts['words', True]} same, "
          f"{counts['words', False]} differ; {len(words)} changes of printed words")
    return not words and not counts["files", False] and not counts["words", False]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sides", nargs="+", type=pathlib.Path, metavar="SIDE")
    parser.add_argument("--save", type=pathlib.Path, metavar="FOLDER", help="keep what one build writes")
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parents[2] / "shared/data", help="real tensors")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--quick", action="store_true", help="a few jobs of every program")
    arguments = parser.parse_args()
    if len(arguments.sides) != (1 if arguments.save else 2):
        parser.error("give two sides to compare, or one folder of programs and --save")
    if arguments.save and arguments.save.exists():
        parser.error(f"{arguments.save} is there already; remove it, or choose another")
    data = arguments.data.resolve()
    if not data.exists() and not arguments.quick:
        print(f"no real tensors: {data} is not there; --data names another folder")
    jobs = choose_jobs(make_jobs(data.exists()), QUICK if arguments.quick else arguments.only)
    are_programs = [(side / "blco-cpd").exists() for side in arguments.sides]
    for side, is_build in zip(arguments.sides, are_programs):
        if not is_build and (arguments.save or not any((side / name).is_dir() for name in jobs)):
            parser.error(f"{side} has no programs" + ", nor what --save keeps of these jobs" * (not arguments.save))
    with tempfile.TemporaryDirectory(prefix="blco-goldens-") as temporary, ThreadPoolExecutor() as pool:
        folders, running = [], []
        for number, (side, is_build) in enumerate(zip(arguments.sides, are_programs)):
            folders.append(side)
            if is_build:
                folders[-1] = arguments.save or pathlib.Path(temporary, str(number))
                folders[-1].mkdir(parents=True)
                running.append(pool.submit(run_jobs, side.resolve(), folders[-1], jobs, data))
        failures = [failure for run in running for failure in run.result()]
        print("\n".join(failures), end="\n" * bool(failures))
        if not arguments.save:
            return 0 if compare_sides(*folders, jobs) and not failures else 1
    print(f"{len(jobs)} jobs are in {arguments.save}")
    return 1 if failures else 0


sys.exit(main())
