"""The blocks of Python and of the shell in README and FROM_A_TABLE run, and print what these pages show."""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pandas
import pytest

import blco

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where README's commands run: the table of a million orders lies there."""
    path = tmp_path_factory.mktemp("pages")
    subprocess.run([sys.executable, ROOT / "tests/tools/make_orders.py", "1000000", path / "orders.csv"], check=True)
    return path


def blocks(page):
    """Blocks between fences as (language, lines), and indented ones as ("", lines), in the order of the page."""
    language, lines = None, []
    for line in [*(ROOT / page).read_text().split("\n"), ""]:
        fence = re.match(r"```(\w*)", line)
        if language:  # within a fence
            if fence:
                yield language, lines
                language, lines = None, []
            else:
                lines.append(line)
        elif fence:
            language = fence.group(1)
        elif line.startswith("    "):
            lines.append(line[4:])
        elif lines:
            yield "", lines
            lines = []


def shell_commands(page):
    """(command, the lines shown below it) of the blocks that run our programs on the orders."""
    for language, lines in blocks(page):
        if language or not re.match(r"(\$ )?blco-", lines[0]):
            continue
        with_output = lines[0].startswith("$ ")
        commands = []
        for line in lines:
            if commands and commands[-1][0].endswith("\\"):
                commands[-1] = (commands[-1][0][:-1] + line, [])
            elif line.startswith("$ ") or not with_output:
                commands.append((line.removeprefix("$ "), []))
            else:
                commands[-1][1].append(line)
        yield from (command for command in commands if "orders" in command[0] or "factors/" in command[0])


def rounded(line):
    """The last digits of a number depend on the processor and its threads."""
    return re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number.group()):.6f}", line.rstrip())


def assert_shows(printed, shown, what):
    """That the lines shown are among those printed, in this order; "..." stands for lines left out."""
    rest = map(rounded, printed.split("\n"))
    for line in shown:
        assert line in ("", "...") or rounded(line) in rest, f"{what} does not print '{line}':\n{printed}"


@pytest.mark.parametrize("page", ["README.md", "tools/programs/FROM_A_TABLE.md"])
def test_commands_print_what_the_page_shows(folder, page):
    path = f"{os.environ['BLCO_BIN']}:{os.environ['PATH']}"
    commands = list(shell_commands(page))

    assert len(commands) > 5
    for command, shown in commands:
        run = subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert run.returncode == 0, f"{command}\n{run.stdout}"
        assert_shows(run.stdout, shown, command)


def test_the_test_that_contributing_shows_is_one_of_the_suite():
    shown, = ("\n".join(lines) for language, lines in blocks("CONTRIBUTING.md") if language == "cpp")

    assert shown in (ROOT / "tests/kernels/test_row_solver.cpp").read_text()


def test_python_prints_what_readme_shows(folder, monkeypatch):
    monkeypatch.chdir(folder)
    random = np.random.default_rng(1)
    frame = pandas.DataFrame({"product": random.choice(list("abcdefghij"), 500),
                              "city": random.choice(list("uvwxyz"), 500), "quantity": random.integers(1, 9, 500)})
    known = {"blco": blco, "coords": random.integers(0, 8, (500, 3)), "values": random.random(500), "frame": frame}
    parts = list(blocks("README.md"))
    programs = [i for i, (language, _) in enumerate(parts) if language == "python"]

    assert len(programs) == 2
    for i in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("\n".join(parts[i][1]), known)
        if printed.getvalue():
            assert_shows(printed.getvalue(), parts[i + 1][1], "README's Python")
