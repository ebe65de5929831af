"""Entries with a seed, dense arrays of them, and the programs, for all tests of the Python module."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest


class Entries:
    """Distinct cells of a small tensor, in random order, and the same as a dense array."""

    def __init__(self, shape, nnz, seed):
        random = np.random.default_rng(seed)
        cells = random.choice(np.prod(shape), size=nnz, replace=False)
        self.shape = shape
        self.coords = np.stack(np.unravel_index(cells, shape), axis=1)
        self.values = random.normal(size=nnz)
        self.dense = np.zeros(shape)
        self.dense[tuple(self.coords.T)] = self.values


def read_page(path):
    """The JSON in the page of a report."""
    _, start, text = path.read_text().partition('<script id="data" type="application/json">')
    assert start
    return json.loads(text.partition("</script>")[0])


@pytest.fixture
def entries():
    return Entries((13, 9, 11), 400, seed=1)


@pytest.fixture
def counts():
    made = Entries((13, 9, 11), 400, seed=2)
    made.values = np.ceil(np.abs(made.values) * 3)
    made.dense[tuple(made.coords.T)] = made.values
    return made


@pytest.fixture
def factors(entries):
    random = np.random.default_rng(3)
    return [random.normal(size=(length, 4)) for length in entries.shape]


@pytest.fixture
def program():
    """Runs one of the programs of the same build."""

    def run(name, *arguments):
        path = pathlib.Path(os.environ["BLCO_BIN"]) / name
        return subprocess.run([path, *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    return run
