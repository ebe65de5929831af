"""Several starts and ranks: what blco-cpd says of them."""
import json

import numpy as np
import pytest

import blco
from conftest import read_page


@pytest.fixture
def planted():
    """Three components, which ranks below cannot say and ranks above need not."""
    random = np.random.default_rng(7)
    factors = [random.normal(size=(length, 3)) for length in (9, 8, 7)]
    dense = np.einsum("ir,jr,kr->ijk", *factors) + 0.001 * random.normal(size=(9, 8, 7))
    return np.argwhere(dense), dense[dense != 0]


def test_starts_and_ranks_are_those_of_the_program(planted, program, tmp_path):
    coords, values = planted
    tensor = blco.ingest(coords, tmp_path / "in.blco", values=values)
    options = {"max_sweeps": 40, "threads": 1}
    flags = "--rank 2,3,5 --starts 3 --sweeps 40 --threads 1 --json".split()
    events = [json.loads(line) for line in program("blco-cpd", tmp_path / "in.blco", *flags).splitlines()]
    expected = [event for event in events if event["event"] == "rank"]

    ranks = blco.fit_ranks(tensor, [2, 3, 5], starts=3, **options)

    assert len(expected) == 3
    for row, said in zip(ranks.rows, expected):
        assert row.rank == said["rank"] and row.model.fit == pytest.approx(said["fit"], rel=1e-12)
        assert row.match == pytest.approx(said["mean_match"], rel=1e-9)
        assert row.core_consistency == pytest.approx(said["core_consistency"], rel=1e-6)
        assert row.model.starts.reaching == said["reaching"] and row.model.starts.count == 3
    assert ranks.choice == events[-1]["choice"] == 3 and "choice: 3" in repr(ranks)


def test_a_report_has_the_matches_of_the_starts(planted, tmp_path):
    tensor = blco.tensor(*planted)
    model = blco.fit_cpd(tensor, 5, starts=3, max_sweeps=9, seed=4)

    model.report(tmp_path / "page.html")

    rows = read_page(tmp_path / "page.html")["starts"]
    assert [int(row["seed"]) for row in rows] == [4, 5, 6] == [run.seed for run in model.starts.runs]
    for n, row in enumerate(rows):
        other = blco.fit_cpd(tensor, 5, max_sweeps=9, seed=4 + n)
        assert row["value"] == pytest.approx(other.fit, rel=1e-5)
        assert row["best"] == (n + 1 == model.starts.best)
        assert row["match"] == (None if row["best"] else pytest.approx(model.compare(other).score, abs=1e-3))


def test_methods_without_a_core_have_no_choice(planted):
    coords, values = planted

    ranks = blco.fit_ranks(blco.tensor(coords, values), [1, 2], "complete", max_sweeps=2)

    assert [row.core_consistency for row in ranks.rows] == [None, None] and ranks.choice is None


def test_what_ends_a_fit_ends_all_ranks(planted):
    tensor, seen = blco.tensor(*planted), []

    def stop(sweep):
        seen.append(sweep.sweep)
        return seen != [1, 2, 3, 1, 2]

    def fail(sweep):
        if not stop(sweep):
            raise ValueError("enough")

    ranks = blco.fit_ranks(tensor, [1, 2, 3], max_sweeps=3, tolerance=0, callback=stop)

    assert [len(row.model.fit_history) for row in ranks.rows] == [3, 2] and len(seen) == 5
    seen.clear()
    with pytest.raises(ValueError, match="enough") as caught:
        blco.fit_ranks(tensor, [1, 2, 3], max_sweeps=3, tolerance=0, callback=fail)
    assert caught.value.model.rank == 2 and len(caught.value.model.fit_history) == 2


def test_keywords_of_ranks_are_those_of_a_fit(planted):
    tensor = blco.tensor(*planted)

    assert blco.fit_ranks(tensor, [np.int64(2)], max_sweeps=2).rows[0].model.starts is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'sweeps'"):
        blco.fit_ranks(tensor, [1, 2], sweeps=3)
    with pytest.raises(blco.InvalidArgument, match="`checkpoint` is about one fit"):
        blco.fit_ranks(tensor, [1, 2], checkpoint="c.h5")


def test_no_start_is_refused(planted):
    with pytest.raises(blco.InvalidArgument, match="start"):
        blco.fit_cpd(blco.tensor(*planted), 2, starts=0)


@pytest.mark.parametrize("ranks", [3, [], "23", None])
def test_ranks_are_a_list_of_at_least_one(planted, ranks):
    with pytest.raises(blco.InvalidArgument, match=r"ranks: give a list of ranks, such as range\(1, 6\), not "):
        blco.fit_ranks(blco.tensor(*planted), ranks)
