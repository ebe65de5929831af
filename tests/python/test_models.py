"""Models: their arrays, files, values, and what they become elsewhere."""
import copy
import pathlib
import pickle
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pytest

import blco
from conftest import read_page


@pytest.fixture
def model(entries):
    return blco.fit_cpd(blco.tensor(entries.coords, entries.values, entries.shape), 3, max_sweeps=5)


def cells_of(model):
    return np.einsum("r,ir,jr,kr->ijk", model.weights, *model.factors)


def address(array):
    return array.__array_interface__["data"][0]


def test_factors_are_read_only_views_that_outlive_the_model(model):
    first, again = model.factors[0], model.factors[0]
    copy = first.copy()

    assert address(first) == address(again) and address(model.weights) == address(model.weights)
    assert first.shape == (13, 3) and first.flags.c_contiguous
    with pytest.raises(ValueError):
        first[0, 0] = 1
    del model
    assert np.array_equal(first, copy)


def test_saved_loaded_and_pickled_models_are_the_same(model, tmp_path):
    model.save(tmp_path / "model.h5")

    for other in (blco.load(tmp_path / "model.h5"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.weights, model.weights)
        assert all(np.array_equal(a, b) for a, b in zip(other.factors, model.factors))
        assert other.fit_history == model.fit_history and other.stop_reason == model.stop_reason
    with h5py.File(tmp_path / "model.h5") as file:
        assert np.array_equal(file["factors/1"], model.factors[1])
    assert "rank 3" in repr(model) and "13x9x11" in repr(model)


def test_values_of_cells_are_those_of_the_sum(entries, model):
    cells = cells_of(model)

    assert np.allclose(model.predict(entries.coords), cells[tuple(entries.coords.T)], rtol=0, atol=1e-13)
    assert np.allclose(model.predict(list(entries.coords.T.astype("u4"))), model.predict(entries.coords))
    assert np.allclose(model.reconstruct([4, 0], slice(2, 5), 7), cells[[4, 0], 2:5, 7:8], rtol=0, atol=1e-13)
    assert model.predict(np.zeros((0, 3), int)).shape == (0,)


@pytest.mark.parametrize(("coords", "message"), [
    ([[0, 0, 0], [1, -2, 0]], "entry 1: the coordinate -2 in mode 1 is negative"),
    ([[0, 0, 0], [1, 9, 0]], "entry 1: the coordinate 9 in mode 1 is not below"),
    ([[0, 0]], "coordinates of 2 modes, but the model has 3"),
    ([[0.5, 0, 0]], "give integers"),
    ([np.array([1]), np.array([1, 2]), np.array([1])], "2 coordinates of mode 1, but 1 of mode 0"),
])
def test_cells_outside_are_refused(model, coords, message):
    with pytest.raises(blco.InvalidArgument) as caught:
        model.predict(coords)
    assert message in str(caught.value)


def test_top_names_the_largest_entries(tmp_path):
    (tmp_path / "in.csv").write_text("who,what,n\n" + "".join(f"{w},{t},{n}\n" for w, t, n in [
        ("Ann", "tea", 5), ("Bob B.", "tea", 3), ("Cid", "jam", 2), ("Ann", "jam", 0.5)]))
    tensor = blco.ingest(tmp_path / "in.csv", tmp_path / "in.blco", modes=["who", "what"], value="n")
    model = blco.fit_cpd(tensor, 2)

    top = model.top(2)

    assert model.labels == [["Ann", "Bob B.", "Cid"], ["tea", "jam"]]
    for component in top:
        who = np.abs(model.factors[0][:, component.number])
        expected = [["Ann", "Bob B.", "Cid"][row] for row in np.argsort(-who)[:2]]
        assert [name for name, _ in component.modes["who"]] == expected
    assert sum(component.share for component in top) == pytest.approx(1)
    name, value = top[0].modes["what"][0]
    assert f"{name} {value:.3f}" in repr(top) and '"Bob B." ' in repr(top)
    frame = model.to_frame()
    assert frame.loc[("who", "Bob B."), "component_1"] == model.factors[0][1, 1]
    assert list(model.to_frame("what").index) == ["tea", "jam"]


def test_a_report_is_the_page_of_the_program(entries, model, program, tmp_path):
    tensor = blco.tensor(entries.coords, entries.values, entries.shape)
    tensor.save(tmp_path / "in.blco")
    model.save(tmp_path / "model.h5")
    program("blco-info", tmp_path / "model.h5", "--report", tmp_path / "page.html", "--tensor", tmp_path / "in.blco",
            "--index-base", 0, "--components", 2, "--top", 4)

    model.report(tmp_path / "same.html", tensor, title="model.h5", components=2, entries=4, memory="64MiB")
    model.report(tmp_path / "whole.html")

    assert (tmp_path / "same.html").read_bytes() == (tmp_path / "page.html").read_bytes()
    assert read_page(tmp_path / "whole.html")["title"] == "CP model"
    with pytest.raises(blco.InvalidArgument, match="the tensor has the shape 9x13"):
        model.report(tmp_path / "none.html", blco.tensor(entries.coords[:, [1, 0, 2]], 1))
    with pytest.raises(ZeroDivisionError):
        model.report(tmp_path / "none.html", tensor, progress=lambda at: 1 / 0)
    assert not (tmp_path / "none.html").exists()


def test_comparison_pairs_components_whatever_their_order_and_signs(model):
    swapped = [factor[:, [2, 0, 1]] for factor in model.factors]
    swapped[0], swapped[1] = -swapped[0], -swapped[1]

    match = model.compare(blco.Model(swapped, model.weights[[2, 0, 1]]))

    assert match.score == pytest.approx(1)
    assert [(a, b) for a, b, *_ in match.pairs] == [(0, 1), (1, 2), (2, 0)]


def test_models_of_others_say_the_same_of_every_cell(model):
    cells = cells_of(model)
    pyttb = pytest.importorskip("pyttb")
    tensorly = pytest.importorskip("tensorly")

    assert np.allclose(model.to_pyttb().full().data, cells)
    assert np.allclose(tensorly.cp_to_tensor(model.to_tensorly()), cells)
    assert isinstance(model.to_pyttb(), pyttb.ktensor)


def test_models_of_others_come_in_with_their_weights(model):
    pyttb = pytest.importorskip("pyttb")
    tensorly = pytest.importorskip("tensorly.cp_tensor")
    cells = cells_of(model)

    theirs = [model.to_pyttb(), model.to_tensorly(), model]
    assert isinstance(theirs[0], pyttb.ktensor) and isinstance(theirs[1], tensorly.CPTensor)
    for other in map(blco.Model, theirs):
        assert np.array_equal(other.weights, model.weights) and np.allclose(cells_of(other), cells, rtol=0, atol=1e-12)
    unweighted = blco.Model(tensorly.CPTensor((None, model.factors)))
    assert np.array_equal(unweighted.weights, np.ones(3))
    assert np.array_equal(blco.Model(model, [1, 2, 3]).weights, [1, 2, 3])


def test_what_others_do_not_hold_is_said(model, entries):
    labels = [[f"who {i}" for i in range(13)], None, None]
    named = blco.Model(model, labels=labels, mode_names="who,what,when")
    tensor = blco.tensor(entries.coords, entries.values, entries.shape, labels=labels)

    assert named.labels == labels and named.mode_names == ("who", "what", "when")
    assert blco.Model(named).labels == labels and named.top(1)[0].modes["who"][0][0].startswith("who ")
    for make, lost in ((named.to_pyttb, "a pyttb.ktensor has no labels and no names of modes"),
                       (named.to_tensorly, "a tensorly CPTensor has no labels and no names of modes"),
                       (tensor.to_pyttb, "a pyttb.sptensor has no labels; keep those")):
        with pytest.warns(UserWarning, match=lost):
            make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.to_pyttb()
    with pytest.raises(blco.InvalidArgument, match="mode 0 has 2 labels, but 13 rows"):
        blco.Model(model.factors, labels=[["a", "b"], None, None])
    with pytest.raises(blco.InvalidArgument, match="there are 2 `mode_names`, but 3 factors"):
        blco.Model(model.factors, mode_names=["a", "b"])


def test_shares_and_order_of_given_factors_count_the_norms_of_columns():
    random = np.random.default_rng(0)
    first, second = random.random((5, 2)), random.random((4, 2))
    first[:, 1] *= 1000

    model = blco.Model([first, second], [2, -3])

    norms = np.array([2, -3]) * np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    top = model.top(2)
    assert [one.number for one in top] == [0, 1] and np.allclose([one.weight for one in top], norms, rtol=1e-14)
    assert np.allclose([one.share for one in top], np.abs(norms) / np.abs(norms).sum(), rtol=1e-14)
    assert np.array_equal(model.factors[0], first) and np.array_equal(model.weights, [2, -3])


def test_what_a_fit_told_is_not_lost_by_pickles_copies_and_files(counts, tmp_path):
    tensor = blco.tensor(counts.coords, counts.values, counts.shape)
    model = blco.fit_cpd(tensor, 2, "apr", starts=2, max_sweeps=3)
    model.save(tmp_path / "model.h5")

    for other in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert other.explained == model.explained > 0
        assert [run.seed for run in other.starts.runs] == [run.seed for run in model.starts.runs]
        assert other.starts.runs[1].component_matches == model.starts.runs[1].component_matches
        assert [run.stop_reason for run in other.starts.runs] == ["sweeps", "sweeps"]
        other.report(tmp_path / "page.html")
    assert blco.load(tmp_path / "model.h5").explained == model.explained


def test_notebooks_show_models_as_tables(model, entries):
    tucker = blco.fit_tucker(blco.tensor(entries.coords, entries.values, entries.shape), 2, max_sweeps=1)
    named = blco.Model(model, mode_names=["<b>", "y", "z"])

    assert "<th>&lt;b&gt;</th>" in named._repr_html_() and named._repr_html_().count("<tr>") == 4
    assert "<td>mode1</td><td>9</td><td>2</td>" in tucker._repr_html_()


@pytest.fixture
def shop():
    """A model of names, and numpy's value of each cell."""
    random = np.random.default_rng(2)
    labels = [["Ann", "Bob"], ["7", "10", "8"], None]
    factors = [random.random((length, 2)) for length in (2, 3, 4)]
    return blco.Model(factors, labels=labels, mode_names=["who", "aisle", "day"]), np.einsum("ir,jr,kr->ijk", *factors)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_cells_of_a_table_are_found_by_its_labels(shop, library):
    model, cells = shop
    rows = {"day": [3, 0, 1], "who": ["Bob", "Ann", "Bob"], "aisle": [10, 7, 8], "other": [None, None, None]}
    table = pytest.importorskip(library)
    table = table.table(rows) if library == "pyarrow" else table.DataFrame(rows)

    assert np.allclose(model.predict(table), [cells[1, 1, 3], cells[0, 0, 0], cells[1, 2, 1]], rtol=1e-14)


def test_cells_are_named_by_labels_and_those_of_a_tensor_by_its_own(shop):
    model, cells = shop
    tensor = blco.tensor([[0, 0, 3], [1, 1, 0]], 1, labels=[["Bob", "Ann"], ["8", "7"], None])
    expected = {(0, 0, 3): cells[1, 2, 3], (1, 1, 0): cells[0, 0, 0]}

    assert np.allclose(model.predict([("Bob", "8", 3), ("Ann", "7", 0)]), list(expected.values()), rtol=1e-14)
    assert np.allclose(model.predict([np.array(["Bob"]), np.array(["8"]), np.array([3])]), cells[1, 2, 3], rtol=1e-14)
    assert np.allclose(model.predict(tensor), [expected[tuple(cell)] for cell in tensor.coords.tolist()], rtol=1e-14)
    assert np.array_equal(model.predict([("Bob", "8", 3), ("Cid", "8", 3)], unknown="nan"), [cells[1, 2, 3], np.nan],
                          equal_nan=True)
    for given, message in (([("Cid", "7", 0)], "entry 0: 'Cid' is no label of the mode 'who', whose labels are such as"),
                           ([("Ann", "7", "x")], "mode 'day' of the model has no labels; give its coordinates"),
                           ([("Ann", "7")], "the model has 3")):
        with pytest.raises(blco.InvalidArgument) as caught:
            model.predict(given)
        assert message in str(caught.value)


@pytest.mark.parametrize("given", [([np.zeros((3, 0)), np.zeros((4, 0))],), ([],), ([], [1.0])])
def test_models_without_modes_or_components_are_refused(given):
    with pytest.raises(blco.InvalidArgument, match="at least one factor and one component"):
        blco.Model(*given)


@pytest.mark.parametrize("factor, weight", [(np.nan, 1.0), (1.0, np.inf)])
def test_models_of_numbers_that_are_not_finite_are_refused(factor, weight):
    with pytest.raises(blco.InvalidArgument, match="finite"):
        blco.Model([np.full((3, 1), factor), np.ones((4, 1))], [weight])


@pytest.mark.parametrize("imports", ["import h5py, blco", "import blco, h5py"])
def test_h5py_may_be_imported_before_and_after(model, tmp_path, imports):
    model.save(tmp_path / "model.h5")
    script = (f"{imports}\nmodel = blco.load('{tmp_path}/model.h5')\n"
              f"with h5py.File('{tmp_path}/other.h5', 'w') as file: file['x'] = model.factors[0]\n"
              f"model.save('{tmp_path}/again.h5')\n"
              f"with h5py.File('{tmp_path}/again.h5') as file:\n"
              f"    assert (file['factors/0'][:] == model.factors[0]).all()\n")

    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_installed_package_has_types_and_neither_headers_nor_cmake_files():
    tree = pathlib.Path(blco.__file__).parents[1]
    if tree.name == "site-packages":
        pytest.skip("other packages lie beside this one")
    names = {path.name for path in tree.rglob("*") if path.is_file()}

    assert {"py.typed", "_blco.pyi", "__init__.py"} <= names
    assert {pathlib.Path(name).suffix for name in names} == {".py", ".pyi", ".so", ".typed"}


def test_importing_blco_imports_nothing_but_numpy():
    script = "import sys, blco; print(*{name.split('.')[0] for name in sys.modules})"

    modules = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()

    assert not {"scipy", "sparse", "pyttb", "pandas", "h5py", "tensorly"} & set(modules)


def test_rows_of_a_block_may_be_a_tuple(model):
    rows = [[0, 1], 0, slice(None)]

    block = model.reconstruct(*rows)

    assert np.array_equal(model.reconstruct((0, 1), *rows[1:]), block)
    with pytest.raises(blco.InvalidArgument, match="a list of numbers"):
        model.reconstruct([[0, 1], [1, 0]], *rows[1:])
