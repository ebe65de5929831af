"""What callers give, also what they cannot: arrays with two meanings, texts for lists, and tensors that come and go."""
import copy
import os
import pickle
import warnings

import numpy as np
import pytest

import blco
from test_tensors import dense


def test_an_array_alone_is_refused_and_dense_ones_are_asked_for(entries, tmp_path):
    counts = np.array([[3, 0, 1], [0, 2, 0], [1, 1, 4], [0, 5, 0]])

    for call in (lambda: blco.tensor(counts), lambda: blco.ingest(counts, tmp_path / "out.blco"),
                 lambda: blco.tensor([[0, 1, 2]], shape=(3, 3, 3)), lambda: blco.tensor(list(counts.T))):
        with pytest.raises(blco.InvalidArgument, match="give their `values`, 1 for entries that only occur, or `dense"):
            call()
    assert list(tmp_path.iterdir()) == []
    for array in (counts, counts.astype(bool), counts.astype("f4"), counts.tolist(), entries.dense):
        for tensor in (blco.tensor(array, dense=True), blco.ingest(array, tmp_path / "out.blco", dense=True)):
            assert tensor.shape == np.shape(array) and np.array_equal(dense(tensor), np.asarray(array, float))
    assert np.array_equal(dense(blco.tensor([[0, 1], [1, 0]], 2.5)), [[0, 2.5], [2.5, 0]])
    with pytest.raises(blco.InvalidArgument, match="`values` and `shape` go with coordinates"):
        blco.tensor(counts, 1, dense=True)
    with pytest.raises(blco.InvalidArgument, match="give real numbers"):
        blco.tensor(counts * 1j, dense=True)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: blco.tensor("in.csv"), "'in.csv' is a path: `blco.ingest` reads files"),
    (lambda: blco.tensor({"user": ["a"]}, modes=["user"]), "dict is no table: make one of it"),
    (lambda: blco.tensor(iter([1])), "list_iterator is no array: give a list of it"),
    (lambda: blco.tensor((n for n in range(3))), "generator is no array"),
    (lambda: blco.tensor(pytest.importorskip("polars").LazyFrame({"a": [1]}), modes=["a"]), "collect()"),
    (lambda: blco.tensor(pytest.importorskip("pyarrow.dataset").dataset([]), modes=["a"]), "scanner("),
    (lambda: blco.tensor([[0, 1, 2]], 1, shape="444"), "shape: '444' is not a list of lengths"),
    (lambda: blco.tensor([[0, 1]], 1, shape=(2.5, 2)), "shape: 2.5 is not a whole number"),
    (lambda: blco.tensor([[0, 1]], 1, labels=["wxyz", None]), "labels: give mode 0 a list of names, or None, not 'wxyz'"),
    (lambda: blco.tensor([[0, 1]], 1, labels=[["a", "b\udc80"], None]), "label 1 of mode 0, 'b\\udc80', is not valid"),
    (lambda: blco.tensor([[0, 1]], 1, labels=[["a", None], None]), "label 1 of mode 0 is None; give a text"),
    (lambda: blco.tensor([[0, 0], [1, 1]], 1, labels=[["a"], None]), "the mode is as long as its list of labels: give one"),
    (lambda: blco.tensor([[0, 1]], 1, mode_names=5), "mode_names: 5 is not a list of names"),
    (lambda: blco.tensor([[0, 1]], 1).to_coo(memory=1.5), "1.5 is not a size"),
    (lambda: blco.tensor([[0, 1]], 1, memory=-1), "memory: -1 is below 0"),
    (lambda: blco.tensor([[0, 1]], 1, progress="yes"), "progress: 'yes' is neither True nor a function"),
])
def test_what_is_no_input_is_told_in_a_sentence(call, message):
    with pytest.raises(blco.InvalidArgument) as caught:
        call()
    assert message in str(caught.value) and len(str(caught.value)) < 200


def test_texts_with_commas_are_lists_as_in_the_programs(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "n": [1, 2]})
    frame.to_csv(tmp_path / "in.csv", index=False)

    tensors = [blco.tensor(frame, modes="user,item", value="n"),
               blco.ingest(tmp_path / "in.csv", tmp_path / "out.blco", modes="user,item", value="n")]

    assert [tensor.mode_names for tensor in tensors] == [("user", "item")] * 2
    assert blco.tensor([[0, 1]], 1, mode_names="row,column").mode_names == ("row", "column")


def test_fields_of_packed_records_and_labels_that_are_numbers():
    records = np.zeros(2, np.dtype([("tag", "u1"), ("i", "i8"), ("j", "i8")]))
    records["i"] = [0, 1]

    tensor = blco.tensor([records["i"], records["j"]], 1, labels=[[10, 20], None])

    assert np.array_equal(dense(tensor), [[1], [1]]) and tensor.labels == [["10", "20"], None]


def test_a_tensor_of_a_file_is_pickled_by_its_path_and_one_in_memory_whole(entries, tmp_path):
    stored = blco.ingest(entries.coords, tmp_path / "in.blco", values=entries.values, mode_names="a,b,c")
    packed = blco.tensor([[0, 1], [1, 0]], [2.0, 3.0], labels=[["x", "y"], None])

    again, copied = pickle.loads(pickle.dumps(stored)), copy.deepcopy(packed)

    assert os.path.samefile(again.path, stored.path) and again.report == stored.report
    assert np.array_equal(dense(again), entries.dense) and again.mode_names == ("a", "b", "c")
    assert np.array_equal(dense(copied), [[0, 2], [3, 0]]) and copied.labels == [["x", "y"], None]
    assert len(pickle.dumps(stored)) < 1000


def test_a_closed_tensor_says_so_and_holds_no_file(entries, tmp_path):
    blco.ingest(entries.coords, tmp_path / "in.blco", values=entries.values).close()
    folder = "/proc/self/fd"  # of Linux
    files = lambda: [os.path.realpath(f"{folder}/{name}") for name in os.listdir(folder)] if os.path.exists(folder) else []

    with blco.open(tmp_path / "in.blco") as tensor:
        assert tensor.nnz == 400
        assert "<td>mode1</td><td>9</td>" in tensor._repr_html_()

    assert os.path.realpath(tensor.path) not in files()
    assert repr(tensor) == "<blco.Tensor, closed>" and "closed" in tensor._repr_html_()
    for use in (lambda: tensor.shape, lambda: blco.fit_cpd(tensor, 1), lambda: tensor.to_coo()):
        with pytest.raises(blco.InvalidArgument, match="this tensor has been closed"):
            use()


def test_modes_that_are_mostly_empty_are_noted_and_may_be_compact(tmp_path):
    coords = [[0, 1], [10**6, 0]]

    with pytest.warns(UserWarning, match="the mode 'mode0' has 1000001 indices, but at most 2 of them have entries"):
        blco.tensor(coords, 1)
    with pytest.warns(UserWarning, match="`compact` leaves out those without"):
        assert len(blco.ingest(coords, tmp_path / "out.blco", values=1).report["notes"]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blco.tensor(coords, 1, (2 * 10**6, 2))
        assert blco.tensor(coords, 1, compact=True).labels == [["0", "1000000"], None]
