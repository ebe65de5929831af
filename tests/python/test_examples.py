"""The examples: on the data that they make up they find what was planted, and they take a table."""
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import read_page

EXAMPLES = pathlib.Path(__file__).parents[2] / "tools/python/examples"


def run(name, folder, *arguments):
    command = [sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments), "--report", folder / "page.html"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    assert [path.name for path in folder.iterdir() if path.suffix != ".csv"] == ["page.html"]
    return output, read_page(folder / "page.html")


def names_of_components(page):
    """Per component the names of its entries of at least half of the mode's scale."""
    scales = [max(-mode["low"], mode["high"]) for mode in page["modes"]]
    return [{name for scale, column in zip(scales, part["columns"]) for name, value, *_ in column["top"]
             if abs(value) >= scale / 2} for part in page["parts"]]


@pytest.mark.parametrize(("name", "patterns"), [
    ("network_flows", [{"10.9.8.7", "13"}, {"backup", "01", "02", "03"}, {"web-1", "web-2", "mail"}]),
    ("shop_orders", [{"Croissant", "Café crème", "Orange juice", "Lyon"}, {"Soup of the day", "Salad", "London"},
                     {"Flour, 1 kg", "Butter", "Vanilla sugar", "Kraków", "Saturday", "Sunday"}]),
    ("app_events", [{"open", "edit", "save"}, {"open", "search", "print"}, {"log in", "add user", "restart"}]),
])
def test_an_example_finds_what_was_planted(name, patterns, tmp_path):
    output, page = run(name, tmp_path)

    found = names_of_components(page)
    assert len(found) == 3
    for pattern in patterns:
        assert sum(pattern <= names for names in found) == 1, (pattern, found)
    assert output.splitlines()[-1] == f"report {tmp_path / 'page.html'}"


def test_new_users_of_the_example_fall_into_their_groups(tmp_path):
    output, _ = run("app_events", tmp_path)

    groups = dict.fromkeys(re.findall(r"user +(\w+)-", output))
    of_component = dict(enumerate(groups))
    found = re.findall(r"(\w+)-\d+ is of component (\d)", output)
    assert len(found) == 9
    assert all(of_component[int(component)] == group for group, component in found)


@pytest.mark.parametrize(("name", "options"), [
    ("network_flows", ["--modes", "who,what", "--value", "n", "--rank", 2]),
    ("shop_orders", ["--modes", "who,what", "--value", "n", "--ranks", "1,2"]),
    ("app_events", ["--modes", "who,what", "--rank", 1]),
])
def test_an_example_takes_a_table(name, options, tmp_path):
    rows = [f"w{i},t{j},{1 + (i * j) % 7}" for i in range(12) for j in range(5)]
    (tmp_path / "in.csv").write_text("\n".join(["who,what,n", *rows]) + "\n")

    _, page = run(name, tmp_path, tmp_path / "in.csv", *options)

    assert page["modes"][0]["name"] == "who"
    assert any(row[0] == "w3" for part in page["parts"] for row in part["columns"][0]["top"])
