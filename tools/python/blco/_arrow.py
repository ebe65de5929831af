"""Tensors and models as Arrow streams, for pyarrow, polars, DuckDB and whatever else reads them; and Parquet as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import _blco
from ._errors import InvalidArgument, IoError, words_of

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


def is_frame(source: Any) -> bool:
    """A table of pandas, or of a library that builds on its class."""
    return getattr(source, "ndim", 0) == 2 and any(base.__module__.split(".")[0] == "pandas"
                                                   for base in type(source).__mro__)


Columns = dict[str, list[Callable[[], Any]]]


def columns_of_frame(frame: Any) -> Columns:
    """What gives each column, by its name as a text: all columns of that name, or else a level of the index."""
    columns: Columns = {}
    for place, label in enumerate(frame.columns):
        columns.setdefault(str(label), []).append(partial(frame.iloc.__getitem__, (slice(None), place)))
    for level, label in enumerate(frame.index.names):
        if label is not None:
            columns.setdefault(str(label), [lambda level=level: frame.index.get_level_values(level).to_series()])
    return columns


def only_column(columns: Columns, name: str, asking: str) -> Any:
    """The column of this name; `asking` says in an error what it is for."""
    found = columns[name]
    if len(found) > 1:
        raise InvalidArgument(f"the table has {len(found)} columns named {name!r}, {asking}; rename all but one")
    return found[0]()


def _as_arrow(column: Any, name: str, asking: str, remedy: str) -> Any:
    import pyarrow

    kind = type(column.dtype).__name__
    if kind == "PeriodDtype":
        periods = column.astype("category")
        column = periods.cat.rename_categories(periods.cat.categories.astype(str)).cat.as_ordered()
    elif kind == "CategoricalDtype" and not column.cat.ordered:
        column = column.cat.remove_unused_categories().cat.as_ordered()
    try:
        return pyarrow.Array.from_pandas(column)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        said = "" if isinstance(error, NotImplementedError) else f": {words_of(error)}"  # a number that Arrow has for it
        raise InvalidArgument(
            f"column {name!r} of the type {column.dtype}, {asking}, cannot be read{said}; {remedy}") from error


def table_of(source: Any, modes: Sequence[str], value: str | None) -> Any:
    """A table with an Arrow C stream. Of one of pandas it has the columns that `modes` and `value` ask for. Periods become
    texts in the order of time, and categories keep their order, which Arrow would have for ordered ones alone.
    """
    if not is_frame(source):
        return source
    try:
        import pyarrow
    except ImportError:
        raise ModuleNotFoundError("a table of pandas is read by pyarrow: pip install 'blco[parquet]'") from None
    columns = columns_of_frame(source)
    named = [_column_named(mode, columns) for mode in modes]
    if None in named or (value and value not in columns):  # refused by the library, which lists those that there are
        return pyarrow.table({name: pyarrow.array([], pyarrow.int64()) for name in columns})
    arrays = {}
    for name in dict.fromkeys([*named, *([value] if value else [])]):
        is_mode = name in named
        asking = f"which `{'modes' if is_mode else 'value'}` asks for"
        remedy = "make all of it texts, as by astype(str), or whole numbers" if is_mode else "give real numbers"
        arrays[name] = _as_arrow(only_column(columns, name, asking), name, asking, remedy)
    return pyarrow.table(arrays)


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


def _column_named(word: str, names: Collection[str]) -> str | None:
    """The column of a mode such as "price:bins=20"."""
    while word not in names and ":" in word:
        word = word.rpartition(":")[0]
    return word if word in names else None
