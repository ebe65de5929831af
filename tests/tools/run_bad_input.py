#!/usr/bin/env python3
"""Runs one subject of the table of bad input: what is wrong, how it is made, the command, what it must say.

usage: run_bad_input.py BIN_FOLDER bad_input/SUBJECT.rows [--update] [--only TEXT]

A file is a list of rows between empty lines; '#' starts a comment. A row may begin with a title, then has

    needs  a command without which the row cannot be tried here: it is skipped, and named, where this fails
    with   a command that makes the input; may be repeated
    run    the command under test
    says   its exit code and its message, the line on standard error behind "PROGRAM: "; * stands for any text

Every row runs in a folder of its own, into which `before` (the rows at the start of the file that have no `run`) has put
what all rows share. Beside code and message, the folder is the same before and after the command: nothing is left
behind and no input has changed. Commands know the functions of case_functions.sh.
"""
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 120
SKIPPED = 77
KEYS = ("needs", "with", "run", "says")


class Row:
    def __init__(self, lines):
        self.title, self.fields, self.says_line = "", {"needs": [], "with": [], "run": [], "says": []}, None
        for number, line in lines:
            key, _, text = line.strip().partition(" ")
            if key in KEYS:
                self.fields[key].append(text.strip())
                self.says_line = number if key == "says" else self.says_line
            else:
                self.title = line.strip()
        self.run = " ".join(self.fields["run"])
        self.title = self.title or self.run

    def expected(self):
        code, _, message = self.fields["says"][0].partition(" ")
        return int(code), message.strip()


def read_rows(lines):
    block = []
    for number, line in enumerate([*lines, ""]):
        if line.startswith("#"):
            continue
        if line.strip():
            block.append((number, line))
        elif block:
            yield Row(block)
            block = []


def shell(command, folder, bin_folder):
    environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", LC_ALL="C", PYTHON=sys.executable)
    functions = pathlib.Path(__file__).resolve().parent / "case_functions.sh"
    return subprocess.run(["bash", "-u", "-c", f'source "$0"; {command}', str(functions)], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS, check=False)


def snapshot(folder):
    """Every name in the folder, with the kind of file and what is in it."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        mode = path.lstat().st_mode
        content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else os.path.realpath(path)
        found[str(path.relative_to(folder))] = (mode, content)
    return found


def message_of(stderr, run):
    """The last line that the program under test says, without its name, and without the pointer to --help."""
    program = re.search(r"blco-\w+", run).group(0)
    lines = [line for line in stderr.splitlines() if not line.startswith("See blco-")]
    last = lines[-1] if lines else ""
    return last.removeprefix(program + ": ") if last.startswith(program + ": ") else f"(not a message) {last}"


def matches(message, pattern):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), message, re.DOTALL) is not None


def try_row(row, shared, bin_folder):
    """(what went wrong or '', exit code, message); None where the row cannot be tried here."""
    with tempfile.TemporaryDirectory(prefix="blco-row-") as temporary:
        folder = pathlib.Path(temporary) / "row"
        shutil.copytree(shared, folder, symlinks=True)
        for command in row.fields["needs"]:
            if shell(command, folder, bin_folder).returncode != 0:
                return None
        for command in row.fields["with"]:
            made = shell(command, folder, bin_folder)
            if made.returncode != 0:
                return f"cannot make the input: {made.stderr.decode()}", 0, ""
        before = snapshot(folder)
        try:
            done = shell(row.run, folder, bin_folder)
        except subprocess.TimeoutExpired:
            return f"still running after {LIMIT_SECONDS} s", 0, ""
        after = snapshot(folder)
        message = message_of(done.stderr.decode("utf-8", "backslashreplace").replace(temporary, "TMP"), row.run)
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        return f"left behind or changed: {' '.join(changed)}" if changed else "", done.returncode, message


def run_table(table, bin_folder, update, only):
    lines = table.read_text(encoding="utf-8").splitlines()
    rows = list(read_rows(lines))
    tried, skipped, failed = 0, [], []
    with tempfile.TemporaryDirectory(prefix="blco-shared-") as shared:
        for row in rows:
            if not row.run:
                for command in row.fields["with"]:
                    made = shell(command, shared, bin_folder)
                    if made.returncode != 0:
                        sys.exit(f"{command}: {made.stderr.decode()}")
                continue
            if only not in row.title:
                continue
            result = try_row(row, shared, bin_folder)
            if result is None:
                skipped.append(row.title)
                continue
            wrong, code, message = result
            tried += 1
            expected_code, pattern = row.expected()
            if not wrong and (code != expected_code or not matches(message, pattern)):
                wrong = f"expected {expected_code}  {pattern}\n  actual   {code}  {message}"
                if update:
                    lines[row.says_line] = f"says  {code}  {message}"
            if wrong:
                failed.append(f"{row.title}\n  {wrong}")
    if update:
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for title in skipped:
        print(f"skipped: {title}")
    print("\n".join(failed))
    print(f"{tried} rows tried, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not tried else 0


def main():
    arguments = sys.argv[3:]
    only = arguments[arguments.index("--only") + 1] if "--only" in arguments else ""
    return run_table(pathlib.Path(sys.argv[2]), os.path.abspath(sys.argv[1]), "--update" in arguments, only)


sys.exit(main())
