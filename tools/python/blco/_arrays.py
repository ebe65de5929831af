"""Entries in the arrays of others: coordinates with values, dense arrays, and sparse ones of scipy, sparse and pyttb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import InvalidArgument, words_of
from ._words import is_path, lengths_of


def _unmasked(array: Any) -> np.ndarray:
    if np.ma.is_masked(array):
        raise InvalidArgument("the array has masked entries; leave them out, as with array.compressed()")
    return np.asarray(array)


def _column(array: Any, what: str) -> np.ndarray:
    """Indices as the library reads them: as they lie, unless their type is a narrower one."""
    try:
        array = _unmasked(array)
    except ValueError as error:
        raise InvalidArgument(f"{what} are not an array: {words_of(error)}") from None
    if array.dtype.kind not in "iu":
        raise InvalidArgument(f"{what} have the type {array.dtype}; give integers")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if not array.flags.aligned:  # a field of packed records
        array = array.copy()
    return array if array.dtype.itemsize >= 4 else array.astype(np.int64)


def values_of(array: Any) -> np.ndarray:
    try:
        array = _unmasked(array)
    except ValueError as error:
        raise InvalidArgument(f"the values are not an array: {words_of(error)}") from None
    if array.dtype.kind not in "iufb":
        raise InvalidArgument(f"the values have the type {array.dtype}; give real numbers")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidArgument(f"the values have {array.ndim} dimensions; give one number per entry")
    return array


def _are_columns(coords: Any) -> bool:
    """A list of one array per mode, as opposed to one of rows."""
    rows = (list, tuple, int)
    return (isinstance(coords, (list, tuple)) and len(coords) > 0
            and not any(isinstance(part, rows) for part in coords) and all(np.ndim(part) == 1 for part in coords))


def parts_of(cells: Any) -> list[Any]:
    """One array per mode, whatever is in it."""
    if _are_columns(cells):
        return list(cells)
    try:
        matrix = np.asarray(cells)
        if matrix.dtype.kind in "US" and isinstance(cells, (list, tuple)):  # numbers stay numbers beside texts
            matrix = np.array(cells, dtype=object)
            return [np.array(column.tolist()) for column in matrix.T]
    except ValueError as error:
        raise InvalidArgument(f"the cells are not an array: {words_of(error)}") from None
    return list(matrix.T) if matrix.ndim == 2 else [matrix]


def columns_of(coords: Any) -> list[np.ndarray]:
    """One array of indices per mode, of a matrix with a row per entry or of a sequence of arrays."""
    if _are_columns(coords):
        return [_column(part, f"the coordinates of mode {n}") for n, part in enumerate(coords)]
    matrix = _column(coords, "the coordinates")
    if matrix.ndim != 2:
        raise InvalidArgument(
            f"the coordinates have {matrix.ndim} dimensions; give a matrix with a row per entry, or a list of one "
            "array per mode"
        )
    return list(matrix.T)


def refuse_other(source: Any) -> None:
    """What is neither arrays nor a table, but looks like something that can be made one."""
    kind = type(source).__name__
    remedy = None
    if is_path(source):
        kind, remedy = repr(source), "a path: `blco.ingest` reads files, and `blco.open` opens a container"
    elif isinstance(source, Mapping) and not hasattr(source, "tocoo"):
        remedy = "no table: make one of it, such as pandas.DataFrame(...)"
    elif hasattr(source, "collect"):  # a LazyFrame of polars
        remedy = "a query: give what its collect() returns"
    elif hasattr(source, "scanner"):  # a dataset of pyarrow
        remedy = "read by a scanner: give its scanner(columns=[...]).to_reader()"
    elif hasattr(source, "__next__") or isinstance(source, (set, frozenset)):
        remedy = "no array: give a list of it"
    if remedy is not None:
        raise InvalidArgument(f"{kind} is {remedy}")


def cells_of_dense(array: Any) -> tuple[list[np.ndarray], np.ndarray, list[int]]:
    """Columns of coordinates, values and shape of the cells of a dense array that are not 0."""
    array = _unmasked(array)
    if array.dtype.kind not in "iufb" or array.ndim == 0:
        raise InvalidArgument(f"the array has {array.ndim} dimensions of the type {array.dtype}; give real numbers")
    cells = np.nonzero(array)
    return list(cells), values_of(array[cells]), list(array.shape)


def entries_of(source: Any, values: Any, shape: Any, dense: bool) -> tuple[list[np.ndarray], np.ndarray | None, Any]:
    """Columns of coordinates, values and shape of arrays, or of a sparse array of scipy, sparse or pyttb."""
    found = None
    if hasattr(source, "tocoo") or hasattr(source, "to_coo"):  # scipy, and formats of sparse
        source = source.tocoo() if hasattr(source, "tocoo") else source.to_coo()
    if hasattr(source, "subs") and hasattr(source, "vals"):  # pyttb
        found = source.subs, source.vals
    elif hasattr(source, "coords") and hasattr(source, "data") and hasattr(source, "shape"):
        found = tuple(source.coords), source.data
    elif hasattr(source, "row") and hasattr(source, "col"):  # a matrix of an older scipy
        found = (source.row, source.col), source.data
    if found is not None:
        fill = getattr(source, "fill_value", 0)
        if fill != 0:
            raise InvalidArgument(
                f"the sparse array has the fill value {fill}, but absent cells of a tensor are 0: subtract {fill} from "
                "the array, or give its coordinates and values"
            )
        if values is not None:
            raise InvalidArgument("`values` goes with arrays of coordinates; a sparse array has its own")
        shape = lengths_of(source.shape) if shape is None else shape
        source, values = found
    elif dense:
        if values is not None or shape is not None:
            raise InvalidArgument("`values` and `shape` go with coordinates; a dense array has its own")
        return cells_of_dense(source)
    elif values is None:
        raise InvalidArgument(
            "an array without `values` may be coordinates, a row per entry, or a dense array: give their `values`, 1 for "
            "entries that only occur, or `dense=True`"
        )
    columns = columns_of(source)
    if np.ndim(values) == 0 and columns:
        values = None if values == 1 else np.full(len(columns[0]), values)
    return columns, None if values is None else values_of(values), shape
