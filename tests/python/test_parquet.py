"""Files of Parquet by their path: the container of the same table in memory, and what cannot be read."""
import subprocess
import sys

import pytest

import blco

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TABLE = pyarrow.table({"shop": [f"shop {i * i % 7}" for i in range(500)],
                       "code: old": ["x", None, "y", "z"] * 125,
                       "when": [f"2024-0{1 + i % 9}-11" for i in range(500)],
                       "price": [i % 13 / 4 for i in range(500)],
                       "n": [i % 5 + 1 for i in range(500)]})
OPTIONS = {"modes": ["shop", "when:month", "price:bins=3", "code: old"], "value": "n", "missing": "skip"}


@pytest.fixture
def stored(tmp_path):
    parquet.write_table(TABLE, tmp_path / "in.parquet", row_group_size=100)
    return tmp_path / "in.parquet"


@pytest.fixture
def expected(tmp_path):
    blco.ingest(TABLE, tmp_path / "table.blco", **OPTIONS)
    return (tmp_path / "table.blco").read_bytes()


def test_a_file_is_the_container_of_its_table(stored, expected, tmp_path):
    tensor = blco.ingest(stored, tmp_path / "out.blco", **OPTIONS)

    assert tensor.report["entries_read"] == 375 and tensor.report["skipped_rows"] == {"code: old": 125}
    assert (tmp_path / "out.blco").read_bytes() == expected


def test_several_files_follow_each_other(expected, tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in "ba"]
    parquet.write_table(TABLE.slice(0, 123), paths[0])
    parquet.write_table(TABLE.slice(123), paths[1])

    blco.ingest(paths, tmp_path / "out.blco", **OPTIONS)

    assert (tmp_path / "out.blco").read_bytes() == expected


def test_a_folder_has_a_column_for_the_names_of_its_folders(tmp_path):
    parquet.write_to_dataset(TABLE, tmp_path / "rows", partition_cols=["shop"])

    tensor = blco.ingest(tmp_path / "rows", tmp_path / "out.blco", modes=["shop", "when:year"], value="n")

    by_shop = TABLE.group_by("shop").aggregate([("n", "sum")]).to_pydict()
    sums = dict(zip(by_shop["shop"], by_shop["n_sum"]))
    assert tensor.values.tolist() == [sums[tensor.labels[0][row]] for row, _ in tensor.coords]
    assert len(sums) == tensor.nnz


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string()])
def test_strings_come_as_codes_and_other_columns_not_at_all(kind, tmp_path):
    from blco import _arrow

    parquet.write_table(TABLE.set_column(0, "shop", TABLE["shop"].cast(kind)), tmp_path / "in.parquet")

    rows = pyarrow.table(_arrow.Parquet([tmp_path / "in.parquet"], ["price:bins=3", "shop"]))

    assert rows.column_names == ["price", "shop"]
    assert pyarrow.types.is_dictionary(rows.schema.field("shop").type)
    assert rows["shop"].to_pylist() == TABLE["shop"].to_pylist()


def test_without_pyarrow_the_extra_is_named(stored, tmp_path):
    script = ("import sys; sys.modules['pyarrow'] = None\n"
              "import blco\n"
              "blco.ingest(sys.argv[1], sys.argv[2], modes=['shop'])")

    done = subprocess.run([sys.executable, "-c", script, stored, tmp_path / "out.blco"], capture_output=True, text=True)

    assert done.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: {stored} is Parquet, which pyarrow reads: pip install 'blco[parquet]'")


def test_what_cannot_be_read_is_said_and_leaves_nothing(stored, tmp_path):
    bad, empty, out = tmp_path / "bad.parquet", tmp_path / "empty", tmp_path / "out.blco"
    bad.write_bytes(b"PAR1" + 40 * b"x" + b"PAR1")
    empty.mkdir()

    with pytest.raises(blco.IoError, match="bad.parquet cannot be read as Parquet: "):
        blco.ingest(bad, out, modes=["shop"])
    with pytest.raises(blco.IoError, match="empty cannot be read as Parquet: the folder has no files$"):
        blco.ingest(empty, out, modes=["shop"])
    with pytest.raises(blco.InvalidArgument, match="has no column 'nobody', which `modes` asks for; its columns are: shop"):
        blco.ingest(stored, out, modes=["nobody"])
    with pytest.raises(blco.InvalidArgument, match="name the columns of the table that become modes"):
        blco.ingest(stored, out)
    with pytest.raises(blco.InvalidArgument, match="`separator` is about files of text"):
        blco.ingest(stored, out, modes=["shop"], separator=";")
    assert not out.exists()
