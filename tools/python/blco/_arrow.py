"""Tensors and models as Arrow streams, for pyarrow, polars, DuckDB and whatever else reads them; and Parquet as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _blco
from ._errors import IoError, words_of

ROWS = 2**16  # of a model, at a time


def _free_name(name: str, taken: Sequence[str]) -> str:
    return _free_name(name + "_", taken) if name in taken else name


def tensor_reader(
    tensor: _blco.Tensor, names: Sequence[str], labels: Sequence[list[str] | None], memory: int, threads: int
) -> Any:
    """A pyarrow.RecordBatchReader that reads a chunk at a time."""
    import pyarrow

    def codes_of(names: list[str]) -> Any:
        return pyarrow.int32() if len(names) < 2**31 else pyarrow.int64()

    dictionaries = [None if of_mode is None else pyarrow.array(of_mode, pyarrow.large_string()) for of_mode in labels]
    types = [pyarrow.int64() if names is None else pyarrow.dictionary(codes_of(names), names.type)
             for names in dictionaries]
    schema = pyarrow.schema([*zip(names, types), (_free_name("value", names), pyarrow.float64())])

    def column(indices: np.ndarray, names: Any) -> Any:
        if names is None:
            return pyarrow.array(indices.view(np.int64))
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices).cast(codes_of(names)), names)

    def batches() -> Any:
        cursor = _blco.NonzeroCursor(tensor, memory, threads)
        while True:
            coords, values = cursor.next()
            if len(values) == 0:
                return
            arrays = [*map(column, coords, dictionaries), pyarrow.array(values)]
            yield pyarrow.record_batch(arrays, schema=schema)

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def model_reader(
    factors: Sequence[np.ndarray], names: Sequence[str], labels: Sequence[list[str] | None], column: str
) -> Any:
    """The same of a model: the rows of one mode after the other. Columns that a mode does not have are null."""
    import pyarrow

    width = max(factor.shape[1] for factor in factors)
    modes = pyarrow.array(names)
    fields = [("mode", pyarrow.dictionary(pyarrow.int32(), pyarrow.string())), ("index", pyarrow.int64()),
              ("label", pyarrow.large_string())]
    schema = pyarrow.schema([*fields, *((f"{column}_{r}", pyarrow.float64()) for r in range(width))])

    def batches() -> Any:
        for n, (factor, of_mode) in enumerate(zip(factors, labels)):
            for first in range(0, len(factor), ROWS):
                rows = factor[first:first + ROWS]
                mode = pyarrow.DictionaryArray.from_arrays(np.full(len(rows), n, np.int32), modes)
                texts = [None] * len(rows) if of_mode is None else of_mode[first:first + ROWS]
                arrays = [mode, np.arange(first, first + len(rows)), pyarrow.array(texts, pyarrow.large_string())]
                arrays += map(np.ascontiguousarray, rows.T)
                arrays += [pyarrow.nulls(len(rows), pyarrow.float64())] * (width - factor.shape[1])
                yield pyarrow.record_batch(arrays, schema=schema)

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def table_of(source: Any, words: Sequence[str]) -> Any:
    """A table with an Arrow C stream. Of one of pandas, columns of `words` that are periods become texts in the order of
    time, and categories keep their order, which Arrow would have for ordered ones alone.
    """
    if type(source).__module__.split(".")[0] != "pandas" or not hasattr(source, "columns"):
        return source
    named = {_column_named(word, [name for name in source.columns if isinstance(name, str)]) for word in words}
    changed = {}
    for name in named - {None}:
        column = source[name]
        kind = type(column.dtype).__name__
        if kind == "PeriodDtype":
            periods = column.astype("category")
            changed[name] = periods.cat.rename_categories(periods.cat.categories.astype(str)).cat.as_ordered()
        elif kind == "CategoricalDtype" and not column.cat.ordered:
            changed[name] = column.cat.remove_unused_categories().cat.as_ordered()
    return source.assign(**changed) if changed else source


def is_parquet(path: str | os.PathLike) -> bool:
    """By its first bytes, or a folder, whose files are taken to be."""
    if os.path.isdir(path):
        return True
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


class Parquet:
    """Files as one table, in their order: the columns of `words`, strings as codes of the files' dictionaries."""

    def __init__(self, paths: Sequence[str | os.PathLike], words: Sequence[str]) -> None:
        name = os.fspath(paths[0])
        try:
            import pyarrow
            from pyarrow import dataset
        except ImportError:
            raise ModuleNotFoundError(f"{name} is Parquet, which pyarrow reads: pip install 'blco[parquet]'") from None
        try:
            files = [file for path in paths for file in dataset.dataset(os.fspath(path), format="parquet").files]
            if not files:
                raise OSError("the folder has no files")
            schema = dataset.dataset(files, format="parquet", partitioning="hive").schema
            columns = [_column_named(word, schema.names) for word in words]
            # One that the table does not have is refused by the library, which lists those that it has.
            self._columns = None if None in columns else list(dict.fromkeys(columns))
            texts = [field.name for field in schema if field.type in (pyarrow.string(), pyarrow.large_string())]
            coded = dataset.ParquetFileFormat(read_options={"dictionary_columns": texts})
            self._rows = dataset.dataset(files, format=coded, partitioning="hive")
        except (pyarrow.ArrowException, OSError) as error:
            raise IoError(f"{name} cannot be read as Parquet: {words_of(error)}") from error

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        # Files ahead would only take memory.
        rows = self._rows.scanner(columns=self._columns, fragment_readahead=1)
        return rows.to_reader().__arrow_c_stream__(requested_schema)


def _column_named(word: str, names: Sequence[str]) -> str | None:
    """The column of a mode such as "price:bins=20"."""
    while word not in names and ":" in word:
        word = word.rpartition(":")[0]
    return word if word in names else None
