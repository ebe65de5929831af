"""Tensors and models as Arrow streams, for pyarrow, polars, DuckDB and whatever else reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _blco

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
