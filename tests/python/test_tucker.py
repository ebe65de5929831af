"""Tucker models: against numpy, against blco-tucker, and when something ends a fit."""
import os
import pickle
import shutil
import signal

import h5py
import numpy as np
import pytest

import blco
from conftest import read_page


@pytest.fixture
def tensor(entries):
    return blco.tensor(entries.coords, entries.values, entries.shape, mode_names=["who", "what", "day"],
                       labels=[None, [f"w{i}" for i in range(9)], None])


def cells_of(model):
    return np.einsum("abc,ia,jb,kc->ijk", model.core, *model.factors)


@pytest.mark.parametrize(("options", "flags"), [
    ({}, []),
    ({"method": "hoqri", "seed": 4}, ["--method", "hoqri", "--seed", 4]),
    ({"start": "nvecs", "precision": "f32"}, ["--start", "nvecs", "--precision", "f32"]),
    ({"memory": "64MiB", "deterministic": True}, ["--memory", "64MiB", "--deterministic"]),
], ids=["hooi", "hoqri", "nvecs", "deterministic"])
def test_a_fit_gives_the_bits_of_the_program(tensor, program, tmp_path, options, flags):
    tensor.save(tmp_path / "in.blco")
    program("blco-tucker", tmp_path / "in.blco", "--ranks", "4,3,2", "--sweeps", 4, "--tolerance", 0, "--threads", 1,
            *flags, "-o", tmp_path / "model.h5")

    model = blco.fit_tucker(blco.open(tmp_path / "in.blco"), (4, 3, np.int64(2)), max_sweeps=4, tolerance=0, threads=1,
                            **options)

    with h5py.File(tmp_path / "model.h5") as expected:
        assert np.array_equal(model.core, expected["core"])
        assert np.array_equal(model.fit_history, expected["fit_history"])
        for n, factor in enumerate(model.factors):
            assert np.array_equal(factor, expected[f"factors/{n}"])
    assert (model.method, model.ranks, model.shape) == (options.get("method", "hooi"), (4, 3, 2), (13, 9, 11))


def test_several_starts_keep_the_best_and_say_how_alike_their_spaces_are(tensor):
    options = {"max_sweeps": 6, "tolerance": 0, "threads": 1}
    singles = [blco.fit_tucker(tensor, (4, 3, 2), seed=seed, **options) for seed in (4, 5, 6)]

    model = blco.fit_tucker(tensor, (4, 3, 2), starts=3, seed=4, **options)

    best = int(np.argmax([single.fit for single in singles]))
    assert model.starts.best == best + 1 and model.starts.count == 3 and singles[0].starts is None
    assert np.array_equal(model.core, singles[best].core)
    for n, run in enumerate(model.starts.runs):
        assert run.seed == 4 + n and run.fit == singles[n].fit and run.component_matches == []
        if n != best:
            cosines = [np.linalg.svd(a.T @ b)[1] for a, b in zip(singles[n].factors, model.factors)]
            assert np.allclose(run.mode_matches, [np.mean(of_mode ** 2) for of_mode in cosines], atol=1e-12)
            assert run.match == min(run.mode_matches)
    other = pickle.loads(pickle.dumps(model))
    assert [run.mode_matches for run in other.starts.runs] == [run.mode_matches for run in model.starts.runs]
    least = blco.plan_tucker(tensor, (4, 3, 2), threads=1).minimum_bytes
    assert blco.plan_tucker(tensor, (4, 3, 2), starts=3, threads=1).minimum_bytes > least
    with pytest.raises(blco.InvalidArgument, match="`starts` and `error` exclude each other"):
        blco.fit_tucker(tensor, error=0.5, starts=2)


def test_the_fit_is_that_of_its_cells_and_factors_are_orthonormal(entries, tensor):
    model = blco.fit_tucker(tensor, 3)

    residual = np.linalg.norm(entries.dense - cells_of(model)) / np.linalg.norm(entries.dense)
    assert model.fit == pytest.approx(1 - residual, abs=1e-9)
    assert all(np.allclose(factor.T @ factor, np.eye(3), atol=1e-12) for factor in model.factors)
    assert np.allclose(model.reconstruct([4, 0], slice(2, 5), 7), cells_of(model)[[4, 0], 2:5, 7:8], atol=1e-13)


def test_core_and_factors_are_read_only_views_that_outlive_the_model(tensor):
    model = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=2)
    core, factor = model.core, model.factors[0]
    copies = core.copy(), factor.copy()

    assert np.shares_memory(core, model.core) and np.shares_memory(factor, model.factors[0])
    with pytest.raises(ValueError):
        core[0, 0, 0] = 1
    del model
    assert np.array_equal(core, copies[0]) and np.array_equal(factor, copies[1])


def test_top_names_the_largest_entries(tensor):
    model = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=3)

    rows = np.argsort(-np.abs(model.factors[1][:, 2]))[:3]
    assert model.top("what", 2, 3) == [(f"w{row}", model.factors[1][row, 2]) for row in rows]
    assert model.top(1, 2) == model.top("what", 2)
    assert model.top("who", 0, 1) == [(np.abs(model.factors[0][:, 0]).argmax(), np.abs(model.factors[0][:, 0]).max())]
    largest = np.unravel_index(np.argsort(-np.abs(model.core), axis=None)[:5], model.core.shape)
    assert model.top_of_core(5) == [(index, model.core[index]) for index in zip(*largest)]
    assert model.to_frame("what").loc["w3", "column_1"] == model.factors[1][3, 1]
    for wrong in [("nobody", 0), (3, 0), ("who", 4)]:
        with pytest.raises(blco.InvalidArgument, match="does not exist"):
            model.top(*wrong)


def test_a_report_is_the_page_of_the_program(tensor, program, tmp_path):
    model = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=2)
    model.save(tmp_path / "model.h5")
    program("blco-info", tmp_path / "model.h5", "--report", tmp_path / "page.html", "--index-base", 0, "--components", 5,
            "--top", 4)

    model.report(tmp_path / "same.html", title="model.h5", numbers=5, entries=4)
    model.report(tmp_path / "whole.html")

    assert (tmp_path / "same.html").read_bytes() == (tmp_path / "page.html").read_bytes()
    assert read_page(tmp_path / "whole.html")["title"] == "Tucker model"
    with pytest.raises(TypeError, match="^numbers: cannot take"):
        model.report(tmp_path / "none.html", numbers="many")


def test_saved_loaded_and_pickled_models_are_the_same(tensor, tmp_path):
    model = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=3)
    model.save(tmp_path / "model.h5")
    blco.fit_cpd(tensor, 2, max_sweeps=2).save(tmp_path / "cp.h5")

    for other in (blco.load(tmp_path / "model.h5"), blco.TuckerModel.load(tmp_path / "model.h5"),
                  pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.core, model.core)
        assert all(np.array_equal(a, b) for a, b in zip(other.factors, model.factors))
        assert (other.labels, other.mode_names) == (model.labels, model.mode_names)
    assert isinstance(blco.load(tmp_path / "cp.h5"), blco.Model)
    with pytest.raises(blco.InvalidArgument, match="cp.h5 is a Model, not a TuckerModel"):
        blco.TuckerModel.load(tmp_path / "cp.h5")
    assert repr(model).startswith("<blco.TuckerModel 13x9x11, ranks 4x3x2, hooi, fit ")


def test_tensorly_says_the_same_of_every_cell(tensor):
    tensorly = pytest.importorskip("tensorly")
    model = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=3)

    with pytest.warns(UserWarning, match="no labels and no names of modes"):
        theirs = model.to_tensorly()

    assert np.allclose(tensorly.tucker_to_tensor(theirs), cells_of(model))


def test_a_fit_goes_on_from_a_model_with_its_ranks(tensor):
    first = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=2, tolerance=0)

    model = blco.fit_tucker(tensor, initial=first, max_sweeps=2, tolerance=0)

    assert model.ranks == first.ranks
    assert model.fit_history[0] >= first.fit


def test_a_fit_goes_on_where_the_tensor_has_grown(entries, tensor):
    early = entries.dense.copy()[:10]
    coords = np.nonzero(early)
    first = blco.fit_tucker(blco.tensor(coords, early[coords], early.shape), (4, 3, 2))

    model = blco.fit_tucker(tensor, initial=first, tolerance=1e-9, max_sweeps=200)

    assert (first.shape[0], model.shape) == (10, entries.shape)
    assert model.fit >= blco.fit_tucker(tensor, (4, 3, 2)).fit - 0.01


def test_held_modes_keep_their_matrices_and_the_others_are_the_best(entries, tensor):
    first = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=1)

    model = blco.fit_tucker(tensor, initial=first, hold=["who", 2], max_sweeps=2)

    assert np.array_equal(model.factors[0], first.factors[0]) and np.array_equal(model.factors[2], first.factors[2])
    unfolding = np.einsum("ijk,ia,kc->jac", entries.dense, first.factors[0], first.factors[2]).reshape(9, -1)
    kept = np.linalg.svd(unfolding, compute_uv=False)[:3]
    residual = np.sqrt(np.sum(entries.dense**2) - np.sum(kept**2)) / np.linalg.norm(entries.dense)
    assert model.fit == pytest.approx(1 - residual, abs=1e-9)
    assert model.stop_reason == "tolerance" or len(model.fit_history) == 2


def test_ranks_are_found_for_an_error(entries, tensor):
    model = blco.fit_tucker(tensor, error=0.5)

    assert np.linalg.norm(entries.dense - cells_of(model)) <= 0.5 * np.linalg.norm(entries.dense)
    assert model.core.shape == model.ranks and max(model.ranks) < 13


def test_a_resumed_fit_gives_the_bits_of_one_that_never_stopped(tensor, tmp_path):
    options = {"tolerance": 0, "threads": 1}
    whole = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=6, **options)
    blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=4, checkpoint=tmp_path / "fit.h5", every=2, **options)

    resumed = blco.fit_tucker(tensor, resume=tmp_path / "fit.h5", max_sweeps=6, **options)

    assert resumed.fit_history == whole.fit_history
    assert all(np.array_equal(a, b) for a, b in zip(resumed.factors, whole.factors))


@pytest.mark.parametrize("fit", [blco.fit_cpd, blco.fit_tucker])
def test_a_checkpoint_that_cannot_be_saved_is_a_warning(tensor, tmp_path, fit):
    folder = tmp_path / "gone"
    folder.mkdir()

    with pytest.warns(UserWarning, match="fit.h5"):
        model = fit(tensor, 2, tolerance=0, max_sweeps=3, checkpoint=folder / "fit.h5",
                    callback=lambda sweep: shutil.rmtree(folder, ignore_errors=True))

    assert len(model.fit_history) == 3


def test_comparison_gives_the_angles_between_the_columns_of_each_mode(tensor):
    first, second = (blco.fit_tucker(tensor, ranks, max_sweeps=3) for ranks in ((4, 3, 2), (3, 3, 3)))

    for a, b, angles in zip(first.factors, second.factors, first.compare(second)):
        cosines = np.linalg.svd(a.T @ b, compute_uv=False)
        assert np.allclose(np.cos(angles), cosines, rtol=0, atol=1e-12) and angles == sorted(angles)


def test_a_plan_names_a_budget_that_suffices_and_less_is_refused(tensor):
    plan = blco.plan_tucker(tensor, 4, threads=1)

    assert (plan.method, plan.passes_per_sweep, plan.ranks) == ("hooi", 3, [4, 4, 4])
    assert blco.fit_tucker(tensor, 4, threads=1, memory=plan.minimum_bytes, max_sweeps=1).ranks == (4, 4, 4)
    with pytest.raises(blco.OutOfMemory, match=r"`memory="):
        blco.fit_tucker(tensor, 4, threads=1, memory=1000)


@pytest.mark.parametrize(("options", "message"), [
    ({"ranks": None}, "ranks: give the columns"),
    ({"ranks": (4, 3)}, "ranks"),
    ({"ranks": (9, 2, 2)}, "exceeds the product of the other ranks"),
    ({"method": "als"}, "method: 'als' is none of auto, hooi, hoqri"),
    ({"start": "svd"}, "start: 'svd' is none of random, nvecs"),
    ({"max_sweeps": 0}, "`max_sweeps` must be at least 1"),
    ({"error": 2.0}, "`error"),
    ({"hold": "who"}, "`initial`"),
])
def test_bad_options_are_refused_by_name(tensor, options, message):
    with pytest.raises(blco.InvalidArgument) as caught:
        blco.fit_tucker(tensor, **({"ranks": 2} | options))
    assert message in str(caught.value)


def test_models_of_the_other_kind_are_no_start(tensor):
    cp, tucker = blco.fit_cpd(tensor, 2, max_sweeps=1), blco.fit_tucker(tensor, 2, max_sweeps=1)

    with pytest.raises(TypeError, match="initial: Model is not a blco.TuckerModel"):
        blco.fit_tucker(tensor, initial=cp)
    with pytest.raises(TypeError, match="initial: TuckerModel is not a blco.Model"):
        blco.fit_cpd(tensor, 2, initial=tucker)


def test_a_callback_sees_every_sweep_and_ends_the_fit(tensor):
    seen = []

    def third(sweep):
        seen.append(sweep.fit)
        return sweep.sweep < 3

    model = blco.fit_tucker(tensor, 3, tolerance=0, callback=third)

    assert model.fit_history == seen and len(seen) == 3
    assert model.stop_reason == "cancelled"


def test_ctrl_c_carries_the_last_model(tensor):
    def second(sweep):
        if sweep.sweep == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        blco.fit_tucker(tensor, 3, tolerance=0, max_sweeps=10**9, time_limit=60, callback=second)

    assert len(caught.value.model.fit_history) >= 2
    assert caught.value.model.stop_reason == "cancelled"
