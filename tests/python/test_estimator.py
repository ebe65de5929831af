"""The estimator: rows of new samples against numpy and scipy, and the manners of scikit-learn."""
import subprocess
import sys

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import blco


def features_of(factors):
    """The Khatri-Rao product of two factors."""
    return np.einsum("jr,kr->jkr", *factors).reshape(-1, factors[0].shape[1])


@pytest.fixture
def split(counts):
    """Eight samples to fit, and five new ones, which lie in the second mode."""
    dense = counts.dense.swapaxes(0, 1)
    parts = []
    for part in (dense[:, :8], dense[:, 8:]):
        coords = np.argwhere(part)
        parts.append(blco.tensor(coords, part[tuple(coords.T)], part.shape, mode_names=["what", "who", "day"]))
    return *parts, dense[:, 8:].swapaxes(0, 1).reshape(5, -1)


@pytest.mark.parametrize("mode", [1, "who"])
def test_new_rows_are_those_of_least_squares(split, mode):
    old, new, unfolded = split
    estimator = blco.CPD(3, mode=mode, max_sweeps=8).fit(old)

    rows = estimator.transform(new)

    expected = np.linalg.lstsq(features_of(estimator.components_), unfolded.T, rcond=None)[0].T
    assert np.allclose(rows, expected, rtol=0, atol=1e-10)
    assert [factor.shape for factor in estimator.components_] == [(9, 3), (11, 3)]


def test_nonnegative_rows_are_those_of_scipy(split):
    old, new, unfolded = split
    estimator = blco.CPD(3, mode=1, nonnegative=True, max_sweeps=500, tolerance=1e-13).fit(old)

    rows = estimator.transform(new)

    features = features_of(estimator.components_)
    expected = np.array([scipy.optimize.nnls(features, row)[0] for row in unfolded])
    assert rows.min() == 0
    assert np.allclose(rows, expected, rtol=0, atol=1e-4)


def test_rows_of_counts_are_most_likely(split):
    old, new, unfolded = split
    estimator = blco.CPD(3, mode=1, method="apr", max_sweeps=300, tolerance=1e-9).fit(old)

    rows = estimator.transform(new)

    features = features_of(estimator.components_)
    means = rows @ features.T
    gradient = features.sum(axis=0) - np.divide(unfolded, means, out=np.zeros_like(means), where=unfolded > 0) @ features
    assert np.abs(gradient[rows > 1e-6]).max() < 1e-5 and gradient.min() > -1e-5


def test_fit_transform_gives_the_rows_of_transform(split):
    old = split[0]
    estimator = blco.CPD(3, mode="who", max_sweeps=500, tolerance=1e-12)

    rows = estimator.fit_transform(old)

    cells = np.einsum("jr,ir,kr->jik", estimator.components_[0], rows, estimator.components_[1])
    assert np.array_equal(rows, estimator.transform(old)) and np.array_equal(estimator.inverse_transform(rows), cells)
    assert np.allclose(cells, estimator.model_.reconstruct(*[slice(None)] * 3), rtol=0, atol=1e-4)


def test_arrays_of_scipy_are_tensors_of_two_modes():
    matrix = scipy.sparse.random(20, 12, 0.4, random_state=3)
    estimator = blco.CPD(2).fit(matrix)

    rows = estimator.transform(scipy.sparse.csr_array(matrix)[:7])

    expected = np.linalg.lstsq(estimator.components_[0], matrix.toarray()[:7].T, rcond=None)[0].T
    assert np.allclose(rows, expected, rtol=0, atol=1e-10)


def test_parameters_come_back_and_make_the_same_estimator(split):
    estimator = blco.CPD(3, mode="who", nonnegative=True, seed=4, max_sweeps=5)

    same = type(estimator)(**estimator.get_params()).set_params(max_sweeps=6, rank=2)

    assert {"rank": 3, "mode": "who", "nonnegative": True, "seed": 4, "max_sweeps": 5}.items() <= estimator.get_params().items()
    assert {"rank": 2, "nonnegative": True, "max_sweeps": 6, "method": None}.items() <= same.get_params().items()
    assert repr(same) == "CPD(max_sweeps=6, mode='who', nonnegative=True, rank=2, seed=4)"
    with pytest.raises(TypeError, match="sweeps"):
        blco.CPD(sweeps=3)
    with pytest.raises(ValueError, match="[Ii]nvalid parameter 'hold'"):
        estimator.set_params(hold=0)


def test_attributes_are_parameters(split):
    estimator = blco.CPD(3, mode=1, max_sweeps=2, tolerance=0)
    estimator.max_sweeps = 4

    assert estimator.fit(split[0]).n_iter_ == 4 and estimator.n_features_in_ == 99


def test_scikit_learn_clones_it_and_takes_it_into_a_pipeline(split):
    sklearn = pytest.importorskip("sklearn.base")
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    old, new, _ = split
    estimator = blco.CPD(3, mode=1, max_sweeps=5).fit(old)

    copy = sklearn.clone(estimator)
    scaled = pipeline.make_pipeline(copy, preprocessing.StandardScaler()).fit(old).transform(new)

    assert copy is not estimator and copy.get_params() == estimator.get_params()
    assert np.allclose(scaled.shape, (5, 3)) and copy.model_.fit == estimator.model_.fit


def test_samples_of_other_features_are_refused(split):
    old, new, _ = split
    labelled = blco.tensor([[0, 0], [1, 1]], 1, labels=[None, ["a", "b"]])
    other = blco.tensor([[0, 0], [1, 1]], 1, labels=[None, ["b", "a"]])

    with pytest.raises(blco.InvalidArgument, match="not fitted yet"):
        blco.CPD(3).transform(new)
    with pytest.raises(blco.InvalidArgument, match="only the samples, mode 0, may be others"):
        blco.CPD(3, max_sweeps=1).fit(old).transform(new)
    with pytest.raises(blco.InvalidArgument, match="only the samples, mode 1, may be others"):
        blco.CPD(3, mode=1, max_sweeps=1).fit(old).transform(labelled)
    with pytest.raises(blco.InvalidArgument, match="the labels of mode 1 are others"):
        blco.CPD(1).fit(labelled).transform(other)


@pytest.mark.parametrize("options", [{"box": (0, 0.3, [0])}, {"simplex": [0]}])
def test_constrained_rows_fit_as_well_as_those_of_the_fit(options):
    dense = np.random.default_rng(0).random((4, 3, 5))
    tensor = blco.tensor(np.argwhere(dense > 0), dense.ravel(), dense.shape, threads=1)
    estimator = blco.CPD(2, threads=1, max_sweeps=300, tolerance=1e-13, seed=1, **options)
    fitted = estimator.fit_transform(tensor)

    rows = estimator.transform(tensor)

    errors = [np.linalg.norm(dense - np.einsum("ir,jr,kr->ijk", given, *estimator.components_))
              for given in (fitted, rows)]
    assert errors[1] <= errors[0] * 1.001


def test_constraints_of_features_are_left_out_of_new_rows(split):
    old, new = split[:2]
    for options in ({"nonnegative": [0, 1]}, {"simplex": 0}, {"box": (0, 5, ["day"])}):
        estimator = blco.CPD(2, mode="who", threads=1, max_sweeps=5, **options).fit(old)
        assert np.isfinite(estimator.transform(new)).all()


def test_a_matrix_of_counts_is_samples_and_features():
    counts = np.random.default_rng(0).poisson(1.0, (100, 5))
    estimator = blco.CPD(2, threads=1)

    rows = estimator.fit_transform(counts)

    assert estimator.model_.shape == (100, 5) and rows.shape == (100, 2) and estimator.n_features_in_ == 5
    expected = np.linalg.lstsq(estimator.components_[0], counts.T, rcond=None)[0].T
    assert np.allclose(rows, expected, rtol=0, atol=1e-10)
    assert np.allclose(estimator.inverse_transform(rows), rows @ estimator.components_[0].T, rtol=0, atol=1e-12)
    rest = np.linalg.norm(counts - estimator.inverse_transform(rows)) / np.linalg.norm(counts)
    assert estimator.score(counts) == pytest.approx(1 - rest, abs=1e-9)
    assert np.array_equal(blco.CPD(2, threads=1).fit_transform(scipy.sparse.csr_array(counts)), rows)


@pytest.mark.parametrize("options", [{}, {"nonnegative": True}, {"method": "apr"}])
def test_samples_without_entries_have_rows_of_zeros(options):
    matrix = scipy.sparse.random(60, 30, 0.2, random_state=0, format="csr")
    estimator = blco.CPD(3, threads=1, **options).fit(matrix)

    for empty in (scipy.sparse.csr_array((3, 30)), np.zeros((3, 30))):
        assert np.allclose(estimator.transform(empty), np.zeros((3, 3)), rtol=0, atol=1e-9)
    with pytest.raises(blco.InvalidArgument, match="no cells other than 0"):
        blco.CPD(3).fit(np.zeros((3, 30)))


def test_completion_takes_nan_for_what_is_unknown():
    random = np.random.default_rng(1)
    whole = random.random((40, 2)) @ random.random((2, 12))
    holes = np.where(random.random(whole.shape) < 0.3, np.nan, whole)
    estimator = blco.CPD(2, method="complete", ridge=0, max_sweeps=300, tolerance=1e-12, threads=1)

    rows = estimator.fit_transform(holes)

    assert np.allclose(estimator.inverse_transform(rows), whole, rtol=0, atol=1e-4)
    assert -1e-4 < estimator.score(holes) <= 0
    assert np.isfinite(estimator.transform(np.full((2, 12), np.nan))).all()


def test_scikit_learns_own_checks_pass():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")

    results = checks.check_estimator(blco.CPD(threads=1), on_fail=None)

    assert len(results) > 40
    failed = [(result["check_name"], result["exception"]) for result in results if result["status"] != "passed"]
    assert [name for name, _ in failed] in ([], ["check_array_api_input"]), failed  # which needs SCIPY_ARRAY_API


def test_results_may_be_frames_and_features_have_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).random((20, 3)), columns=["a", "b", "c"])
    estimator = blco.CPD(2, threads=1).set_output(transform="pandas").fit(frame)

    rows = estimator.transform(frame)

    assert list(rows.columns) == list(estimator.get_feature_names_out()) == ["cpd0", "cpd1"]
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]


WITHOUT = """
import sys
sys.modules["sklearn"] = None
import numpy as np
import blco

counts = np.random.default_rng(0).poisson(1.0, (30, 5))
estimator = blco.CPD(2, threads=1, max_sweeps=3)
try:
    estimator.transform(counts)
except blco.InvalidArgument as error:
    print(type(error).__name__)
rows = estimator.fit_transform(counts)
try:
    estimator.transform(counts[:, :2])
except blco.InvalidArgument as error:
    print(error)
print(rows.shape, estimator.set_params(rank=3), estimator.get_params()["max_sweeps"])
"""


def test_scikit_learn_is_not_needed():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)

    assert done.stdout == ("NotFitted\nX has 2 features, but CPD is expecting 5 features as input\n"
                           "(30, 2) CPD(rank=3, max_sweeps=3, threads=1) 3\n"), done.stderr
