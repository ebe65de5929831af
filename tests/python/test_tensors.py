"""Tensors: what comes in, what is refused, and what goes out."""
import numpy as np
import pytest
import scipy.sparse
import sparse

import blco
from blco._arrays import columns_of, values_of
from blco._words import size_in_bytes


NAN = float("nan")


def dense(tensor):
    coords, values = tensor.to_coo()
    array = np.zeros(tensor.shape)
    array[tuple(coords.T)] = values
    return array


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u4", "u8", ">i4"])
@pytest.mark.parametrize("values", ["f4", "f8", "i4"])
def test_coordinates_and_values_of_every_type(entries, kind, values):
    numbers = np.round(entries.values * 8).astype(values)

    tensor = blco.tensor(entries.coords.astype(kind), numbers, entries.shape)

    expected = np.zeros(entries.shape)
    expected[tuple(entries.coords.T)] = numbers
    assert np.array_equal(dense(tensor), expected)
    assert tensor.nnz == 400 and tensor.order == 3
    assert tensor.norm == pytest.approx(np.linalg.norm(numbers))


def address(array):
    return array.__array_interface__["data"][0]


def test_columns_of_a_matrix_are_views_of_it(entries):
    coords = entries.coords.astype(np.int64)

    columns = columns_of(coords)

    assert [address(column) - address(coords) for column in columns] == [0, 8, 16]
    assert [column.strides for column in columns] == [(24,)] * 3


@pytest.mark.parametrize("kind", ["i4", "u4", "i8", "u8"])
def test_an_array_per_mode_and_its_values_come_in_where_they_lie(entries, kind):
    arrays = [column.astype(kind)[::-2] for column in entries.coords.T]

    assert [address(column) for column in columns_of(arrays)] == [address(array) for array in arrays]
    for values in (entries.values[::-2], entries.values.astype("f4"), entries.values[:, np.newaxis]):
        assert address(values_of(values)) == address(values)


def test_an_array_per_mode_and_strides_of_any_sign(entries):
    backwards = [column[::-1] for column in entries.coords.T]

    tensor = blco.tensor(backwards, entries.values[::-1], entries.shape)

    assert np.array_equal(dense(tensor), entries.dense)


def test_one_value_is_for_all_entries_and_repeated_ones_add_up():
    tensor = blco.tensor([[0, 1], [0, 1], [2, 0]], 1, mode_names=["user", "item"])

    assert np.array_equal(dense(tensor), [[0, 2], [0, 0], [1, 0]])
    assert tensor.mode_names == ("user", "item")
    assert "2 nonzeros" in repr(tensor) and "user: 3" in repr(tensor) and "in memory" in repr(tensor)


def test_compact_modes_are_those_of_numpy_unique(tmp_path):
    random = np.random.default_rng(1)
    coords = random.choice([random.integers(0, 98_000_000, 60), random.integers(0, 2**40, 60)], 500, axis=1)
    values = random.random(500)

    tensor = blco.ingest(coords.T, tmp_path / "t.blco", values=values, compact=True)

    uniques, places = zip(*(np.unique(row, return_inverse=True) for row in coords))
    assert tensor.shape == tuple(map(len, uniques))
    assert [list(map(int, labels)) for labels in tensor.labels] == [list(row) for row in uniques]
    expected = np.zeros(tensor.shape)
    np.add.at(expected, places, values)
    assert np.allclose(dense(tensor), expected, rtol=1e-15)


@pytest.mark.parametrize("make", [scipy.sparse.coo_array, scipy.sparse.coo_matrix, scipy.sparse.csr_array])
def test_scipy(entries, make):
    matrix = entries.dense[:, :, 0]

    tensor = blco.tensor(make(matrix))

    assert tensor.shape == matrix.shape
    assert np.array_equal(tensor.to_scipy().toarray(), matrix)


@pytest.mark.parametrize("make", [sparse.COO, sparse.GCXS, sparse.DOK])
def test_pydata_sparse(entries, make):
    tensor = blco.tensor(make.from_numpy(entries.dense))

    assert np.array_equal(dense(tensor), entries.dense)


@pytest.mark.parametrize("fill", [1.0, NAN])
def test_sparse_arrays_with_another_fill_value_are_refused(fill):
    array = sparse.COO([[0, 1], [1, 0]], [5.0, 6.0], (2, 2), fill_value=fill)

    with pytest.raises(blco.InvalidArgument, match=f"the fill value {fill}, .*: subtract"):
        blco.tensor(array)


@pytest.mark.parametrize("mode", [0, 1, 2, -1])
def test_unfoldings_are_those_of_a_dense_array(entries, mode):
    unfolded = blco.tensor(entries.coords, entries.values, entries.shape).to_scipy(mode)

    assert np.array_equal(unfolded.toarray(), np.moveaxis(entries.dense, mode, 0).reshape(entries.shape[mode], -1))


def test_pyttb_there_and_back(entries):
    pyttb = pytest.importorskip("pyttb")
    theirs = pyttb.sptensor(entries.coords, entries.values[:, np.newaxis], entries.shape)

    tensor = blco.tensor(theirs)

    assert np.array_equal(dense(tensor), entries.dense)
    assert tensor.to_pyttb().isequal(theirs)


def test_containers_of_arrays_of_text_and_of_tensors_have_the_same_bytes(entries, tmp_path):
    text = "".join(f"{i + 1} {j + 1} {k + 1} {x!r}\n"
                   for (i, j, k), x in zip(entries.coords.tolist(), entries.values.tolist()))
    (tmp_path / "in.tns").write_text(text)

    from_text = blco.ingest(tmp_path / "in.tns", tmp_path / "text.blco", shape=entries.shape)
    blco.ingest(entries.coords, tmp_path / "arrays.blco", values=entries.values, shape=entries.shape)
    blco.tensor(entries.coords, entries.values, entries.shape).save(tmp_path / "saved.blco")

    expected = (tmp_path / "text.blco").read_bytes()
    assert (tmp_path / "arrays.blco").read_bytes() == expected
    assert (tmp_path / "saved.blco").read_bytes() == expected
    assert from_text.report["input_format"] == "FROSTT text" and from_text.report["entries_read"] == 400
    assert np.array_equal(dense(blco.open(tmp_path / "text.blco")), entries.dense)


def test_a_table_has_labels(tmp_path):
    (tmp_path / "in.csv").write_text("user,item,n\nZoë,tea,2\nBob,tea,NA\nZoë,\"oat, milk\",1\n")

    tensor = blco.ingest([tmp_path / "in.csv"], tmp_path / "out.blco", modes=["user", "item"], value="n",
                         missing="skip", memory="64MiB")

    assert tensor.labels == [["Zoë"], ["tea", "oat, milk"]]
    assert np.array_equal(dense(tensor), [[2, 1]])
    assert tensor.report["skipped_rows"] == {"n": 1}


def test_labels_of_arrays_stay_with_them(tmp_path):
    names = [["Ann", "Bob", "Cid"], None]

    memory = blco.tensor([[0, 1], [1, 0]], 1, labels=names)
    file = blco.ingest([[0, 1], [1, 0]], tmp_path / "out.blco", values=1, labels=names)

    assert memory.labels == file.labels == names and memory.shape == (3, 2)
    assert blco.fit_cpd(memory, 1, max_sweeps=1).labels == names
    with pytest.raises(blco.InvalidArgument, match="label 1 of mode 0 is empty"):
        blco.tensor([[0, 1]], 1, labels=[["Ann", ""], None])
    with pytest.raises(blco.InvalidArgument, match="the coordinate 1 in mode 1 is not below the mode's length of 1"):
        blco.tensor([[0, 1]], 1, labels=[None, ["Ann"]])


@pytest.fixture
def sales():
    pyarrow = pytest.importorskip("pyarrow")
    batches = [{"who": ["Ann", "Bob", "Ann"], "what": ["tea", "jam", "jam"], "day": [0, 2, 1], "n": [2.0, 1.0, 4.0]},
               {"who": ["Cid", "Bob"], "what": ["jam", "tea"], "day": [2, 0], "n": [0.5, 3.0]}]
    tables = [pyarrow.table(batch) for batch in batches]
    # Each batch has a dictionary of its own.
    coded = [table.set_column(1, "what", table["what"].dictionary_encode()) for table in tables]
    stream = pyarrow.RecordBatchReader.from_batches(coded[0].schema, [t.to_batches()[0] for t in coded])
    return pyarrow.concat_tables(tables), stream


EXPECTED_SALES = {("Ann", "tea", 0): 2, ("Bob", "jam", 2): 1, ("Ann", "jam", 1): 4, ("Cid", "jam", 2): 0.5,
                  ("Bob", "tea", 0): 3}


def test_columns_of_a_table_become_modes(sales, tmp_path):
    table, stream = sales
    modes = ["who", "what", "day:index"]

    tensors = [blco.tensor(table, modes=modes, value="n"), blco.tensor(stream, modes=modes, value="n"),
               blco.tensor(table.to_pandas(), modes=modes, value="n"),
               blco.ingest(table, tmp_path / "out.blco", modes=modes, value="n")]

    for tensor in tensors:
        assert tensor.mode_names == ("who", "what", "day") and tensor.shape == (3, 2, 3)
        who, what, none = tensor.labels
        cells = {(who[i], what[j], k): x for (i, j, k), x in zip(tensor.coords.tolist(), tensor.values.tolist())}
        assert cells == EXPECTED_SALES and none is None


@pytest.mark.parametrize("kind", ["int8", "int16", "uint8", "uint16"])
def test_narrow_columns_of_a_table_are_indices_where_asked(kind):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": pyarrow.array([0, 100], kind), "b": pyarrow.array([2, 1], "int64")})

    tensor = blco.tensor(table, modes=["a:index", "b:index"])

    assert sorted(tensor.coords.tolist()) == [[0, 2], [100, 1]]


def test_labels_of_categories_are_those_of_rows_in_their_order():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": pandas.Categorical(["Zoe", "Bob", "Ann", "Bob"]), "n": [1.0, 2.0, 3.0, 4.0]})

    tensor = blco.tensor(frame[frame.who != "Ann"], modes=["who"], value="n")

    assert tensor.labels == [["Bob", "Zoe"]] and np.array_equal(dense(tensor), [6, 1])


def test_a_null_in_a_dictionary_is_refused_where_a_row_has_it():
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 2, 1]), ["a", None, "b"])

    with pytest.raises(blco.InvalidArgument, match="row 2 of column 'who', counted from 0, is null"):
        blco.tensor(pyarrow.table({"who": column}), modes=["who"])
    assert blco.tensor(pyarrow.table({"who": column[:2]}), modes=["who"]).labels == [["a", "b"]]


def test_options_may_be_arrays(sales, tmp_path):
    table, _ = sales
    (tmp_path / "in.csv").write_text("who,what\nAnn,tea\n")
    lists = {"modes": ["who", "what"], "mode_names": ["a", "b"], "shape": [3, 2]}
    arrays = {name: np.array(given) for name, given in lists.items()}

    named = blco.tensor([[0, 1]], 1, labels=np.array([["Ann", "Bob"], ["tea", "jam"]]))

    assert blco.tensor(table, **arrays).mode_names == ("a", "b")
    assert blco.tensor([[0, 1]], 1, mode_names=arrays["mode_names"], shape=arrays["shape"]).shape == (3, 2)
    assert blco.ingest(tmp_path / "in.csv", tmp_path / "out.blco", modes=arrays["modes"],
                       mode_names=arrays["mode_names"]).mode_names == ("a", "b")
    assert named.labels == [["Ann", "Bob"], ["tea", "jam"]]


def test_tables_are_refused_by_column_and_row(sales):
    table, _ = sales
    pyarrow = pytest.importorskip("pyarrow")
    bad = table.append_column("gap", [["a", "b", None, "d", "e"]]).append_column("real", [[0.5] * 5])
    cases = [({"modes": ["who", "gap"]}, "row 2 of column 'gap', counted from 0, is null"),
             ({"modes": ["who", "real"]}, "column 'real' has the type double"),
             ({"modes": ["who", "where"]}, "no column 'where'"),
             ({"modes": ["who"], "value": "where"}, "no column 'where'"),
             ({}, "modes: name the columns"),
             ({"modes": ["who"], "values": [1]}, "`value` names a column")]
    for options, message in cases:
        with pytest.raises(blco.InvalidArgument) as caught:
            blco.tensor(bad, **options)
        assert message in str(caught.value)
    with pytest.raises(blco.InvalidArgument, match="`modes` and `value` name columns of a table"):
        blco.tensor([[0, 1]], modes=["who", "what"])
    with pytest.raises(blco.InvalidArgument, match="no nonzeros"):
        blco.tensor(pyarrow.table({"who": pyarrow.array([], pyarrow.string())}), modes=["who"])


@pytest.mark.parametrize(("coords", "values", "shape", "message"), [
    ([[0, 1], [2, -7]], 1, None, "entry 1 of the coordinate arrays: the coordinate -7 in mode 1 is negative"),
    ([[0, 1], [2, 5]], 1, (3, 5), "the coordinate 5 in mode 1 is not below the mode's length of 5"),
    ([[0, 1], [2, 3]], [1, NAN], None, "entry 1 of the coordinate arrays: its value is not a finite number"),
    ([[0, 1], [2, 3]], [1], None, "1 values for 2 entries"),
    ([[0, 1], [2, 3]], [1, 1j], None, "the values have the type complex128"),
    ([[0, 1], [2, 3]], ["a", "b"], None, "give real numbers"),
    ([[0, 1], [2, 3]], [[1, 2], [3, 4]], None, "the values have 2 dimensions"),
    ([[0.0, 1.0]], 1, None, "the coordinates have the type float64; give integers"),
    ([[0, 1], [2]], 1, None, "the coordinates are not an array"),
    ([np.array([0, 1]), np.array([2])], 1, None, "mode 1 has 1 entries, but that of mode 0 has 2"),
    ([0, 1, 2], 1, None, "the coordinates have 1 dimensions"),
    (np.zeros((0, 2), int), 1, None, "no nonzeros"),
    ([[0, 1]], [0.0], None, "zero"),
    ([[0, 1]], 1, (3, 3, 3), "`shape` has 3 lengths"),
])
def test_bad_entries_are_refused_by_their_place(coords, values, shape, message, tmp_path):
    for call in (lambda: blco.tensor(coords, values, shape),
                 lambda: blco.ingest(coords, tmp_path / "out.blco", values=values, shape=shape)):
        with pytest.raises(blco.InvalidArgument) as caught:
            call()
        assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_errors_have_a_kind_of_the_library_and_one_of_python(entries, tmp_path):
    path = tmp_path / "in.blco"
    blco.ingest(entries.coords, path, values=entries.values, compression="none")
    whole = path.read_bytes()
    path.write_bytes(whole[:2000] + bytes(64) + whole[2064:])
    (tmp_path / "text").write_text("no container")

    with pytest.raises(OSError) as corrupt:
        blco.open(path).to_coo()
    with pytest.raises(OSError) as missing:
        blco.open(tmp_path / "absent.blco")
    with pytest.raises(ValueError):
        blco.open(tmp_path / "text")
    with pytest.raises(MemoryError) as memory:
        blco.tensor(entries.coords, entries.values, memory=1000)

    assert isinstance(corrupt.value, blco.CorruptError) and str(path) in str(corrupt.value)
    assert isinstance(missing.value, blco.IoError)
    assert isinstance(memory.value, blco.OutOfMemory) and "`memory=" in str(memory.value)


@pytest.mark.parametrize(("options", "message"), [
    ({"duplicates": "add"}, "duplicates: 'add' is none of sum, error"),
    ({"devices": "tpu"}, "devices: 'tpu' is none of cpu, cuda"),
    ({"compression": "zip"}, "compression: 'zip' is none of"),
    ({"memory": "2 lots"}, "'2 lots' is not a size"),
    ({"mode_names": ["a"]}, "`mode_names` has 1 name"),
    ({"missing": "skip"}, "`missing` is about files of text"),
    ({"modes": ["a", "b", "c"]}, "`modes` and `value` name columns of a table"),
    ({"source": "in.tns", "values": [1]}, "`values` and lists of `labels` go with arrays"),
    ({"source": "in.tns", "labels": [["a"]]}, "`values` and lists of `labels` go with arrays"),
    ({"source": scipy.sparse.eye_array(3), "values": [1]}, "a sparse array has its own"),
])
def test_bad_options_are_named(entries, tmp_path, options, message):
    with pytest.raises(ValueError, match="(?s).*") as caught:
        blco.ingest(**{"source": entries.coords, "values": 1, "output": tmp_path / "out.blco"} | options)
    assert message in str(caught.value)


def test_a_file_of_labels_is_a_path(tmp_path):
    with pytest.raises(TypeError, match="labels: cannot take 5"):
        blco.ingest(tmp_path / "in.tns", tmp_path / "out.blco", labels={0: 5})


def test_sizes():
    sizes = ("2GiB", "1.5 KB", "64M", "7", 12, None)

    assert [size_in_bytes(size) for size in sizes] == [2**31, 1500, 2**26, 7, 12, None]


def test_a_callback_ends_an_ingest_and_leaves_nothing(entries, tmp_path):
    def fail(at):
        raise RuntimeError(f"in stage {at.stage}")

    with pytest.raises(RuntimeError, match="in stage"):
        blco.ingest(entries.coords, tmp_path / "out.blco", values=1, progress=fail)
    with pytest.raises(blco.Cancelled):
        blco.ingest(entries.coords, tmp_path / "out.blco", values=1, progress=lambda at: False)
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_an_input_is_refused_and_stays(entries, tmp_path):
    table, container = tmp_path / "in.csv", tmp_path / "t.blco"
    table.write_text("user,item\nu,v\nw,x\n", encoding="utf-8")
    before = table.read_bytes()
    for options in ({"output": table}, {"output": container, "hold_out": 0.5, "held_out_to": table}):
        with pytest.raises(blco.InvalidArgument, match="is also an input"):
            blco.ingest(table, modes=["user", "item"], **options)
    tensor = blco.ingest(entries.coords, container, values=entries.values)
    with pytest.raises(blco.InvalidArgument, match="is also an input"):
        blco.fit_cpd(tensor, 1, checkpoint=container)
    with pytest.raises(blco.InvalidArgument, match="is also an input"):
        blco.fit_cpd(tensor, 1, max_sweeps=1).report(container, tensor)
    assert table.read_bytes() == before
    assert blco.open(container).nnz == tensor.nnz


def test_columns_of_other_libraries_are_columns():
    import array

    import polars
    import pyarrow

    for column in (lambda numbers: array.array("q", numbers), polars.Series, pyarrow.array):
        tensor = blco.tensor([column([0, 1, 2]), column([1, 2, 0])], 1, threads=1)
        assert (tensor.shape, tensor.nnz) == ((3, 3), 3)
    assert blco.tensor([[0, 1], [1, 2], [2, 0]], 1, threads=1).nnz == 3  # rows of a matrix


def test_masked_numbers_are_refused():
    with pytest.raises(blco.InvalidArgument, match="masked"):
        blco.tensor([[0, 1], [2, 3]], np.ma.masked_array([1.0, 99.0], [0, 1]))


@pytest.mark.parametrize("kind", ["=u8", ">u8"])
def test_indices_of_64_bits_come_back(kind):
    coords = np.array([[2**63, 1], [5, 2]], kind)

    tensor = blco.tensor(coords, [1.0, 2.0], threads=1)

    assert tensor.shape == (2**63 + 1, 3)
    assert sorted(map(tuple, tensor.coords.tolist())) == [(5, 2), (2**63, 1)]


def test_a_file_without_names_is_named_and_words_mean_missing(tmp_path):
    (tmp_path / "in.csv").write_text("ann,x,2\n\\N,y,3\n")
    options = {"modes": ["user", "item"], "value": "n", "columns": ["user", "item", "n"], "missing": "nobody"}

    tensor = blco.ingest(tmp_path / "in.csv", tmp_path / "out.blco", null="\\N", **options)

    assert tensor.labels == [["ann", "nobody"], ["x", "y"]]
    with pytest.raises(blco.InvalidArgument, match="`columns` names 2"):
        blco.ingest(tmp_path / "in.csv", tmp_path / "out.blco", **options | {"columns": ["user", "item"]})


def test_copies_in_the_orders_of_modes(tmp_path):
    coords, values = np.indices((5, 6, 7)).reshape(3, -1).T, np.arange(1.0, 211)
    packed = blco.tensor(coords, values, mode_names=("a", "b", "c"), orders=["c", 0])
    written = blco.ingest(coords, tmp_path / "t.blco", values=values, mode_names=("a", "b", "c"), orders="a,c")
    packed.save(tmp_path / "saved.blco")
    written.save(tmp_path / "plain.blco", orders="none")
    blco.open(tmp_path / "plain.blco").save(tmp_path / "given.blco", orders=[0, 2])
    from_file = blco.ingest(tmp_path / "plain.blco", tmp_path / "from_file.blco", orders=("c", "a"))

    assert packed.orders == written.orders == from_file.orders == (0, 2)
    assert blco.open(tmp_path / "plain.blco").orders == ()
    for name in ("saved.blco", "given.blco", "from_file.blco"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "t.blco").read_bytes()
    assert blco.tensor(coords, values, orders=1).orders == (1,)
    needs_none = "the mode 'long' needs no copy"
    thin = blco.tensor([[0, 0], [5, 1], [3, 1]], [1.0, 2.0, 3.0], mode_names=("long", "short"))
    with pytest.warns(UserWarning, match=needs_none):
        thin.save(tmp_path / "thin.blco", orders=["long", "short"])
    with pytest.warns(UserWarning, match=needs_none):
        blco.ingest(tmp_path / "thin.blco", tmp_path / "again.blco", orders=["long"])
    assert blco.open(tmp_path / "thin.blco").orders == (1,)
    with pytest.raises(blco.InvalidArgument, match="'d' is not a mode"):
        blco.tensor(coords, values, orders=["d"])
    with pytest.raises(blco.InvalidArgument, match="orders: 2.5 is not a whole number"):
        blco.tensor(coords, values, orders=[2.5])
