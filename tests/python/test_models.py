"""Models: their arrays, files, values, and what they become elsewhere."""
import pathlib
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pytest

import blco


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
    assert "<title>CP model</title>" in (tmp_path / "whole.html").read_text()
    with pytest.raises(blco.InvalidArgument, match="the tensor has the shape 9x13"):
        model.report(tmp_path / "none.html", blco.tensor(entries.coords[:, [1, 0, 2]]))
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
