"""Fits and passes: against numpy, against blco-cpd, and when something ends them."""
import os
import pickle
import signal
import sys
import threading
import time
import types

import h5py
import numpy as np
import pytest

import blco


@pytest.fixture
def tensor(entries):
    return blco.tensor(entries.coords, entries.values, entries.shape)


def cells_of(factors):
    return np.einsum("ir,jr,kr->ijk", *factors)


PRODUCTS = ["ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr"]


def contract(array, factors, mode):
    others = [factor for n, factor in enumerate(factors) if n != mode]
    return np.einsum(PRODUCTS[mode], array, *others)


@pytest.mark.parametrize("order", ["C", "F"])
def test_mttkrp_is_that_of_einsum(entries, tensor, factors, order):
    given = [np.asarray(factor, order=order) for factor in factors]
    for mode in range(3):
        product = blco.mttkrp(tensor, given, mode)

        assert np.allclose(product, contract(entries.dense, factors, mode), rtol=0, atol=1e-12)


def test_evaluate_is_that_of_a_dense_array(entries, tensor, factors):
    residual = cells_of(factors) - entries.dense
    listed = entries.dense != 0

    value, gradients = blco.evaluate(tensor, factors)
    known, known_gradients = blco.evaluate(tensor, factors, "gaussian", absent="unknown", memory="64MiB")

    assert value == pytest.approx((residual**2).sum(), rel=1e-12)
    assert known == pytest.approx((residual[listed] ** 2).sum(), rel=1e-12)
    for mode in range(3):
        assert np.allclose(gradients[mode], contract(2 * residual, factors, mode), rtol=0, atol=1e-10)
        assert np.allclose(known_gradients[mode], contract(2 * residual * listed, factors, mode), rtol=0, atol=1e-10)


METHODS = [
    ({"method": "als"}, []),
    ({"nonnegative": True}, ["--nonnegative"]),
    ({"nonnegative": [0, "mode2"], "l1": 0.1}, ["--nonnegative", "0,mode2", "--l1", "0.1"]),
    ({"simplex": "mode1", "box": (0, 2, [0])}, ["--simplex", "mode1", "--box", "0:2:0"]),
    ({"ridge": 0.1, "start": "normal", "seed": 5}, ["--ridge", "0.1", "--start", "normal", "--seed", "5"]),
    ({"start": "nvecs"}, ["--start", "nvecs"]),
    ({"momentum": False}, ["--momentum", "off"]),
    ({"method": "apr", "inner": 3, "kappa": 0.1}, ["--method", "apr", "--inner", "3", "--kappa", "0.1"]),
    ({"method": "gcp", "loss": "poisson", "nonnegative": True, "evaluations": 7},
     ["--method", "gcp", "--loss", "poisson", "--nonnegative", "--evaluations", "7"]),
    ({"method": "gcp-adam", "loss": "huber:0.5", "learning_rate": 0.02, "samples": 50},
     ["--method", "gcp-adam", "--loss", "huber:0.5", "--learning-rate", "0.02", "--samples", "50"]),
    ({"method": "complete", "cg_steps": 1}, ["--method", "complete", "--cg-steps", "1"]),
    ({"precision": "mixed", "deterministic": True}, ["--precision", "mixed", "--deterministic"]),
    ({"devices": "cpu"}, ["--devices", "cpu"]),
]


@pytest.mark.parametrize(("options", "flags"), METHODS, ids=[" ".join(flags) or "als" for _, flags in METHODS])
def test_every_method_gives_the_bits_of_the_program(counts, program, tmp_path, options, flags):
    file = blco.ingest(counts.coords, tmp_path / "in.blco", values=counts.values, shape=counts.shape)
    program("blco-cpd", tmp_path / "in.blco", "--rank", 3, "--sweeps", 4, "--tolerance", 0, "--threads", 1, *flags,
            "-o", tmp_path / "model.h5")

    model = blco.fit_cpd(file, 3, max_sweeps=4, tolerance=0, threads=1, **options)

    with h5py.File(tmp_path / "model.h5") as expected:
        assert np.array_equal(model.weights, expected["weights"])
        for n, factor in enumerate(model.factors):
            assert np.array_equal(factor, expected[f"factors/{n}"])
    assert model.method == options.get("method", "als")


def test_the_fit_is_that_of_its_cells(entries, tensor):
    model = blco.fit_cpd(tensor, 4, max_sweeps=20)

    cells = np.einsum("r,ir,jr,kr->ijk", model.weights, *model.factors)
    residual = np.linalg.norm(entries.dense - cells) / np.linalg.norm(entries.dense)
    assert model.fit == pytest.approx(1 - residual, abs=1e-9)


def test_a_plan_names_a_budget_that_suffices_and_less_is_refused(tensor):
    plan = blco.plan(tensor, 4, threads=1)

    assert plan.column_slabs == 1 and plan.processes == 1 and plan.others == []
    assert plan.chunks == plan.decoded_chunks == 1
    assert plan.device_chunks == plan.packed_chunks == plan.streamed_chunks == 0
    assert plan.minimum_bytes <= plan.planned_bytes <= plan.budget_bytes
    assert plan.device_planned_bytes == plan.device_budget_bytes == plan.device_minimum_bytes == 0
    assert not plan.stops_within_sweep and not plan.stops_after_pass and plan.new_rows == []
    blco.fit_cpd(tensor, 4, threads=1, memory=plan.minimum_bytes, max_sweeps=1)
    with pytest.raises(blco.OutOfMemory, match=r"`memory="):
        blco.fit_cpd(tensor, 4, threads=1, memory=plan.minimum_bytes - 1)
    assert blco.plan(tensor, 4, starts=3, threads=1).minimum_bytes > plan.minimum_bytes


@pytest.mark.parametrize(("options", "message"), [
    ({"rank": 0}, "rank"),
    ({"rank": None}, "rank: give the number of components"),
    ({"method": "svd"}, "`method`: 'svd' is none of als, apr, gcp, gcp-adam, complete"),
    ({"inner": 3}, "`inner` belongs to `method='apr'`, not to als"),
    ({"method": "apr", "loss": "gamma"}, "`loss` belongs to `method='gcp'` and `method='gcp-adam'`, not to apr"),
    ({"method": "gcp", "loss": "hinge"}, "loss: 'hinge' is none of gaussian"),
    ({"nonnegative": "day"}, "day"),
    ({"nonnegative": [0], "simplex": [0]}, "mode 0 has another constraint"),
    ({"method": "apr"}, "takes counts, which are at least 0; use `method='als'`"),
    ({"devices": ["cpu", "cpu=2"]}, "`devices` names cpu twice"),
    ({"max_sweeps": 0}, "`max_sweeps` must be at least 1"),
    ({"initial": [np.ones((20, 2))] * 3}, "initial"),
    ({"initial": [np.full((9, 2), np.nan)] * 3}, "initial"),
])
def test_bad_options_are_refused_by_name(tensor, options, message):
    with pytest.raises(blco.InvalidArgument) as caught:
        blco.fit_cpd(tensor, **({"rank": 2} | options))
    assert message in str(caught.value)


def test_options_of_the_wrong_type_are_type_errors(tensor):
    with pytest.raises(TypeError, match="str is not a blco.Tensor; make one by"):
        blco.fit_cpd("in.blco", 2)
    with pytest.raises(TypeError, match="max_sweeps"):
        blco.fit_cpd(tensor, 2, max_sweeps="many")
    with pytest.raises(TypeError, match="devices: cannot take"):
        blco.fit_cpd(tensor, 2, devices=[0, 1])
    for box in (5, ("a", "b"), (0, None)):
        with pytest.raises(TypeError, match="box: cannot take"):
            blco.fit_cpd(tensor, 2, box=box)
    for modes in ({"nonnegative": 5.5}, {"hold": 1.0}):
        with pytest.raises(TypeError, match=rf"{next(iter(modes))}: cannot take .*; give True, or modes by name"):
            blco.fit_cpd(tensor, 2, **modes)
    with pytest.raises(TypeError):
        blco.fit_cpd(tensor, 2, sweeps=3)


@pytest.mark.parametrize(("numpy", "plain"), [
    ({"nonnegative": np.int64(1)}, {"nonnegative": 1}),
    ({"nonnegative": np.bool_(True)}, {"nonnegative": True}),
    ({"box": (np.float32(0), np.int8(2), np.int64(1))}, {"box": (0, 2, 1)}),
])
def test_numbers_of_numpy_are_options_too(tensor, numpy, plain):
    options = {"max_sweeps": 2, "threads": 1}

    model, expected = (blco.fit_cpd(tensor, 2, **options, **more) for more in (numpy, plain))

    assert np.array_equal(model.factors[1], expected.factors[1])
    assert model.factors[1].min() >= 0


@pytest.mark.parametrize(("given", "message"), [
    (lambda factors: factors[:2], "2 factors; give one per mode, 3 in all"),
    (lambda factors: [factors[0], factors[1][:-1], factors[2]], "factor 1 is a matrix of 8 x 4"),
    (lambda factors: [factors[0], factors[1][:, :2], factors[2]], "factor 1 is a matrix of 9 x 2"),
    (lambda factors: [factors[0], factors[1] * 1j, factors[2]], "give a matrix of real numbers"),
    (lambda factors: [factors[0], factors[1][0], factors[2]], "factor 1 has 1 dimensions"),
])
def test_factors_of_another_size_are_refused(tensor, factors, given, message):
    with pytest.raises(blco.InvalidArgument) as caught:
        blco.mttkrp(tensor, given(factors), 0)
    assert message in str(caught.value)


def test_a_callback_sees_every_sweep_and_ends_the_fit(tensor):
    seen = []

    def third(sweep):
        seen.append((sweep.sweep, sweep.fit))
        return sweep.sweep < 3

    model = blco.fit_cpd(tensor, 3, tolerance=0, callback=third)

    assert [sweep for sweep, _ in seen] == [1, 2, 3]
    assert model.fit_history == [fit for _, fit in seen]
    assert model.stop_reason == "cancelled"


def test_what_a_callback_raises_carries_the_last_model(tensor):
    def second(sweep):
        return sweep.sweep < 2 or 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        blco.fit_cpd(tensor, 3, tolerance=0, callback=second)

    assert len(caught.value.model.fit_history) == 2


def test_what_progress_raises_before_the_first_sweep_has_no_model(tensor):
    def fail(at):
        raise LookupError(at.stage)

    with pytest.raises(LookupError) as caught:
        blco.fit_cpd(tensor, 3, progress=fail)

    assert caught.value.model is None


def test_ctrl_c_carries_the_last_model(tensor, tmp_path):
    checkpoint = tmp_path / "fit.h5"

    def interrupt():
        while not checkpoint.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        blco.fit_cpd(tensor, 3, tolerance=0, max_sweeps=10**9, checkpoint=checkpoint, time_limit=60)
    other.join()

    assert len(caught.value.model.fit_history) >= 1
    assert caught.value.model.stop_reason == "cancelled"


def test_two_fits_in_two_threads_give_what_each_gives_alone(tensor):
    expected = [blco.fit_cpd(tensor, rank, max_sweeps=10, tolerance=0, threads=1) for rank in (2, 5)]
    models = {}

    def fit(rank):
        models[rank] = blco.fit_cpd(tensor, rank, max_sweeps=10, tolerance=0, threads=1, callback=lambda sweep: True)

    threads = [threading.Thread(target=fit, args=(rank,)) for rank in (2, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for model in expected:
        assert np.array_equal(models[model.rank].factors[0], model.factors[0])


def test_the_interpreter_runs_while_a_fit_does(tensor):
    begun, end = threading.Event(), threading.Event()
    models = []

    def sweep(report):
        begun.set()
        return not end.is_set()

    fit = threading.Thread(target=lambda: models.append(
        blco.fit_cpd(tensor, 3, tolerance=0, max_sweeps=10**9, time_limit=60, callback=sweep)))
    fit.start()
    begun.wait()
    end.set()
    fit.join()

    assert models[0].stop_reason == "cancelled"


def test_a_resumed_fit_gives_the_bits_of_one_that_never_stopped(tensor, tmp_path):
    options = {"tolerance": 0, "threads": 1}
    whole = blco.fit_cpd(tensor, 3, max_sweeps=9, nonnegative=True, **options)
    blco.fit_cpd(tensor, 3, max_sweeps=5, nonnegative=True, checkpoint=tmp_path / "fit.h5", **options)

    for again in ({}, {"rank": 3, "method": "als", "nonnegative": True}):
        resumed = blco.fit_cpd(tensor, resume=tmp_path / "fit.h5", max_sweeps=9, **again, **options)

        assert resumed.fit_history == whole.fit_history
        assert all(np.array_equal(a, b) for a, b in zip(resumed.factors, whole.factors))


def test_a_fit_starts_from_a_model_and_holds_its_modes(tensor, factors):
    start = blco.Model(factors)

    model = blco.fit_cpd(tensor, initial=start, hold=[0, "mode1"], max_sweeps=3)
    same = blco.fit_cpd(tensor, initial=factors, hold=[0, 1], max_sweeps=3)

    assert np.array_equal(model.factors[0], factors[0]) and np.array_equal(model.factors[1], factors[1])
    assert np.array_equal(same.factors[2], model.factors[2])


def test_completion_keeps_the_model_of_the_least_held_out_error(counts):
    kept = np.arange(400) % 5 != 0
    known = blco.tensor(counts.coords[kept], counts.values[kept], counts.shape)
    held_out = blco.tensor(counts.coords[~kept], counts.values[~kept], counts.shape)
    errors = []

    model = blco.fit_cpd(known, 2, "complete", ridge=0.1, validate=held_out, max_sweeps=30,
                         callback=lambda sweep: errors.append(sweep.validation_error))
    best = blco.fit_cpd(known, 2, "complete", ridge=0.1, validate=held_out, max_sweeps=30, starts=2).starts.runs[0]

    rest = model.predict(counts.coords[~kept]) - counts.values[~kept]
    assert np.sqrt((rest**2).mean()) == pytest.approx(min(errors), rel=1e-9)
    assert best.held_out["model_error"] == best.validation_error and best.held_out["entries"] == 80
    assert pickle.loads(pickle.dumps(best)).held_out == best.held_out


def test_the_ridge_that_completion_found_is_a_number(counts):
    tensor = blco.tensor(counts.coords, counts.values, counts.shape)

    found = blco.fit_cpd(tensor, 4, "complete")

    assert found.found_ridge > 0  # rows have fewer than eight entries for each of their four numbers
    assert blco.fit_cpd(tensor, 4, "complete", ridge=0.5).found_ridge is None
    assert blco.fit_cpd(tensor, 4, max_sweeps=1).found_ridge is None


def test_progress_is_shown_on_standard_error(tensor, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    blco.fit_cpd(tensor, 2, max_sweeps=2, tolerance=0, progress=True)
    fitted = capfd.readouterr()
    blco.tensor([[0, 1]], 1, progress=True)
    packed = capfd.readouterr()

    assert "sweep 2" in fitted.err and "pack 100%" in packed.err
    assert fitted.out == packed.out == "" and fitted.err.endswith("\n")


def test_a_number_is_a_mode_even_if_a_name_is_one(entries, factors):
    named = blco.tensor(entries.coords, entries.values, entries.shape, mode_names=["1", "2", "3"], threads=1)

    by_number = blco.fit_cpd(named, 4, threads=1, max_sweeps=3, initial=factors, hold=[1])
    by_name = blco.fit_cpd(named, 4, threads=1, max_sweeps=3, initial=factors, hold=["1"])

    for model, held in ((by_number, 1), (by_name, 0)):
        ratios = [np.ptp(fitted / given, axis=0).max() for fitted, given in zip(model.factors, factors)]
        assert [ratio < 1e-9 for ratio in ratios] == [n == held for n in range(3)]


def test_a_stopped_fit_frees_its_model_with_the_exception(tensor):
    import gc
    import weakref

    def stop(sweep):
        raise ValueError

    gc.disable()
    try:
        with pytest.raises(ValueError) as raised:
            blco.fit_cpd(tensor, 2, threads=1, callback=stop)
        model = weakref.ref(raised.value.model)
        raised.value.__traceback__ = None
        del raised
        assert model() is None
    finally:
        gc.enable()


def test_what_needs_a_model_of_each_process_takes_no_comm(tensor):
    for call, rank in ((blco.fit_ranks, [1, 2]), (blco.plan, 2)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'comm'"):
            call(tensor, rank, comm=object())
    with pytest.raises(ValueError, match="comm"):
        blco.CPD(2).set_params(comm=object())


def test_factors_may_be_given_by_the_names_of_modes(entries, factors):
    named = blco.tensor(entries.coords, entries.values, entries.shape, mode_names=["who", "when", "what"])
    by_name = dict(zip(["what", "who", "when"], [factors[2], factors[0], factors[1]]))

    model = blco.fit_cpd(named, initial=by_name, hold=["who", "when:hour-of-day"], max_sweeps=2, threads=1)

    same = blco.fit_cpd(named, initial=factors, hold=[0, 1], max_sweeps=2, threads=1)
    assert all(np.array_equal(a, b) for a, b in zip(model.factors, same.factors))
    with pytest.raises(blco.InvalidArgument, match="initial: the factors are of who, but the tensor has the modes who, "):
        blco.fit_cpd(named, initial={"who": factors[0]})
    with pytest.raises(blco.InvalidArgument, match="'where' is not a mode"):
        blco.fit_cpd(named, 2, hold="where")


def test_a_mode_of_mttkrp_may_be_named(entries, tensor, factors):
    assert np.array_equal(blco.mttkrp(tensor, factors, "mode1", threads=1), blco.mttkrp(tensor, factors, 1, threads=1))
    with pytest.raises(blco.InvalidArgument, match="mode 'user' does not exist; the modes are mode0, mode1, mode2"):
        blco.mttkrp(tensor, factors, "user")


def test_a_loss_with_a_number_is_a_pair(tensor, factors):
    assert blco.evaluate(tensor, factors, ("huber", 0.25), "unknown")[0] == blco.evaluate(
        tensor, factors, "huber:0.25", "unknown")[0]
    assert blco.fit_cpd(tensor, 1, "gcp", loss=("huber", 0.5), max_sweeps=1).loss == "huber:0.5"


@pytest.mark.parametrize("run", [
    lambda tensor, factors, progress: blco.mttkrp(tensor, factors, 0, threads=2, progress=progress),
    lambda tensor, factors, progress: blco.evaluate(tensor, factors, threads=2, progress=progress)])
def test_passes_end_where_they_are_stopped(run, tmp_path):
    random = np.random.default_rng(5)
    coords = random.integers(0, 500, (200_000, 3))
    tensor = blco.ingest(coords, tmp_path / "in.blco", values=1, chunk_nnz=10_000)
    factors = [random.random((length, 64)) for length in tensor.shape]
    seen = []

    with pytest.raises(blco.Cancelled):
        run(tensor, factors, lambda at: seen.append(at.share) or False)
    with pytest.raises(ZeroDivisionError):
        run(tensor, factors, lambda at: 1 / 0)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # which it is not in a shell's background
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(10_000):
                run(tensor, factors, False)
    finally:
        signal.signal(signal.SIGINT, usual)

    assert seen and max(seen) < 1


def test_progress_is_a_bar_where_tqdm_is(tensor, capfd, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, desc, total, **_):
            bars.append([desc, total, 0, False])
            self.n = 0

        def update(self, count):
            self.n += count
            bars[-1][2] = self.n

        def close(self):
            bars[-1][3] = True

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))

    blco.fit_cpd(tensor, 2, max_sweeps=2, tolerance=0, progress=True)

    assert [bar for bar in bars if bar[0].startswith("sweep")] == [["sweep 1", 100, 100, True], ["sweep 2", 100, 100, True]]
    assert capfd.readouterr().err == ""


def test_arguments_of_wrong_types_are_told_in_a_line(tensor, tmp_path):
    model, tucker = blco.fit_cpd(tensor, 1, max_sweeps=1), blco.fit_tucker(tensor, 1, max_sweeps=1)
    calls = [(lambda: blco.fit_cpd(tensor, 1, starts="3"), "starts: '3' is not a whole number"),
             (lambda: model.top("mode0"), "count: 'mode0' is not a whole number"),
             (lambda: model.top(-1), "count: -1 is below 0"),
             (lambda: model.predict([[0, 0, 0]], threads="1"), "threads: '1' is not a whole number"),
             (lambda: model.compare(tucker), "a TuckerModel is no blco.Model to compare with"),
             (lambda: tucker.compare(model), "a Model is no blco.TuckerModel to compare with"),
             (lambda: tensor.save(None), "expected str, bytes or os.PathLike object, not NoneType"),
             (lambda: blco.mttkrp(tensor, "abc", 0), "factors: a str is no list of matrices"),
             (lambda: tensor.to_coo(threads="two"), "threads: 'two' is not a whole number"),
             (lambda: blco.fit_cpd(tensor, "three"), "rank: cannot take 'three'")]

    for call, message in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert message in str(caught.value) and len(str(caught.value)) < 200
