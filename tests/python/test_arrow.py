"""Tensors and models as Arrow streams: the same entries and names, a part at a time."""
import numpy as np
import pytest

import blco

pyarrow = pytest.importorskip("pyarrow")

WHO = [f"user {i}" for i in range(13)]


@pytest.fixture
def tensor(entries, tmp_path):
    """Ten chunks: labels, indices, and a mode whose name is taken by the values elsewhere."""
    return blco.ingest(entries.coords, tmp_path / "in.blco", values=entries.values, shape=entries.shape,
                       mode_names=["who", "what", "value"], labels=[WHO, None, None], chunk_nnz=40)


def test_a_tensor_is_a_table_of_labels_indices_and_values(entries, tensor):
    table = pyarrow.table(tensor)

    who = pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string())
    assert list(zip(table.column_names, table.schema.types)) == [
        ("who", who), ("what", pyarrow.int64()), ("value", pyarrow.int64()), ("value_", pyarrow.float64())]
    columns = [table[n].to_pylist() for n in range(4)]
    rows = {(WHO.index(who), what, value): number for who, what, value, number in zip(*columns)}
    assert rows == dict(zip(map(tuple, entries.coords.tolist()), entries.values))
    assert np.array_equal(table["value_"], tensor.values)


def test_a_stream_gives_a_chunk_at_a_time_and_is_new_each_time(tensor):
    reader = pyarrow.RecordBatchReader.from_stream(tensor)
    first = reader.read_next_batch()

    assert first.num_rows == 40
    assert pyarrow.RecordBatchReader.from_stream(tensor).read_next_batch().equals(first)
    assert [batch.num_rows for batch in reader] == [40] * 9
    assert tensor.to_arrow(memory="64MiB", threads=1).read_all().equals(pyarrow.table(tensor))


def test_a_stream_outlives_its_tensor(entries):
    tensor = blco.tensor(entries.coords, entries.values)
    expected = tensor.values.copy()
    reader = tensor.to_arrow()
    del tensor

    assert np.array_equal(reader.read_all()["value"], expected)


def test_what_lies_before_damage_comes_and_then_the_error(tensor):
    with open(tensor.path, "r+b") as file:
        file.seek(file.read().index(tensor.values[200:204].tobytes()))  # as f64 in the file
        file.write(b"\x00" * 16)

    reader = blco.open(tensor.path).to_arrow()

    assert sum(reader.read_next_batch().num_rows for _ in range(5)) == 200
    with pytest.raises(Exception, match="chunk 5"):
        reader.read_next_batch()


def test_a_table_of_a_tensor_is_the_tensor_again(tensor):
    again = blco.tensor(tensor, modes=["who", "what:index", "value:index"], value="value_")

    who = [again.labels[0][row] for row in again.coords[:, 0]]
    expected = {(WHO[i], j, k): value for (i, j, k), value in zip(tensor.coords.tolist(), tensor.values)}
    assert {(name, j, k): value for name, (_, j, k), value in zip(who, again.coords.tolist(), again.values)} == expected


def test_a_frame_of_pandas_has_categories(tensor):
    frame = pyarrow.table(tensor).to_pandas()

    assert list(frame["who"].cat.categories) == WHO
    assert frame["value_"].sum() == pytest.approx(tensor.values.sum())


def test_a_model_is_a_table_of_the_rows_of_its_factors(tensor):
    model = blco.fit_cpd(tensor, 3, max_sweeps=2)

    table = pyarrow.table(model)

    assert table.column_names == ["mode", "index", "label", "component_0", "component_1", "component_2"]
    assert table["mode"].to_pylist() == ["who"] * 13 + ["what"] * 9 + ["value"] * 11
    assert table["index"].to_pylist() == [*range(13), *range(9), *range(11)]
    assert table["label"].to_pylist() == WHO + [None] * 20
    for r in range(3):
        assert np.array_equal(table[f"component_{r}"], np.concatenate([factor[:, r] for factor in model.factors]))


def test_rows_of_long_modes_come_in_parts():
    model = blco.Model([np.arange(200000.0).reshape(-1, 2), np.ones((3, 2))])

    batches = list(pyarrow.RecordBatchReader.from_stream(model))

    assert [batch.num_rows for batch in batches] == [65536, 34464, 3]
    assert np.array_equal(batches[1]["component_1"], model.factors[0][65536:, 1])


def test_columns_that_a_mode_of_a_tucker_model_does_not_have_are_null(tensor):
    model = blco.fit_tucker(tensor, (4, 3, 2), max_sweeps=1)

    table = pyarrow.table(model)

    assert table["column_3"].to_pylist() == model.factors[0][:, 3].tolist() + [None] * 20
    assert table["column_1"].to_pylist() == np.concatenate([factor[:, 1] for factor in model.factors]).tolist()
