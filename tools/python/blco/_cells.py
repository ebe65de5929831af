"""Cells that are named by coordinates or by labels, as the rows of a model's factors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import columns_of, parts_of
from ._arrow import Columns, columns_of_frame, is_frame, only_column
from ._errors import InvalidArgument
from ._tensor import Tensor, is_table

if TYPE_CHECKING:
    from ._model import Model


def _columns_of_table(table: Any, names: tuple[str, ...]) -> list[np.ndarray]:
    columns: Columns
    if is_frame(table):
        columns = columns_of_frame(table)
    elif type(table).__module__.split(".")[0] == "polars":
        columns = {name: [partial(table.get_column, name)] for name in table.columns}
    else:
        import pyarrow

        columns, table = {}, pyarrow.table(table)
        for place, name in enumerate(table.column_names):
            columns.setdefault(name, []).append(partial(table.column, place))
    for name in names:
        if name not in columns:
            raise InvalidArgument(f"the table has no column {name!r} of that mode; its columns are {', '.join(columns)}")
    return [np.asarray(only_column(columns, name, "which is a mode")) for name in names]


def _text(label: Any) -> str:
    """As tables of text have it."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _rows_of_labels(names: list[str], given: np.ndarray, mode: str, unknown: str) -> np.ndarray:
    """The row of each label; -1 of one that the model does not have."""
    row_of = {name: row for row, name in enumerate(names)}
    rows = np.fromiter((row_of.get(_text(label), -1) for label in given), np.int64, len(given))
    if unknown == "error" and (rows < 0).any():
        first = int(np.argmax(rows < 0))
        raise InvalidArgument(f"entry {first}: {_text(given[first])!r} is no label of the mode {mode!r}, whose labels are "
                              f"such as {names[0]!r}; give unknown='nan' for NaN there")
    return rows


def coordinates_in(model: Model, cells: Any, unknown: str) -> tuple[list[np.ndarray], np.ndarray | None]:
    """The rows of each mode, and which cells the model has; None: all."""
    if unknown not in ("error", "nan"):
        raise InvalidArgument(f"unknown: {unknown!r} is neither 'error' nor 'nan'")
    labels = model.labels
    columns: list[Any]
    if isinstance(cells, Tensor):
        columns = list(cells.coords.T)
        theirs = cells.labels
        are_labels = [names is not None and known is not None and names != known
                      for names, known in zip(theirs, labels)]
        if any(are_labels):
            columns = [np.asarray(names, dtype=object)[column] if by_label else column
                       for column, names, by_label in zip(columns, theirs, are_labels)]
    elif is_table(cells):
        columns = _columns_of_table(cells, model.mode_names)
        are_labels = [names is not None for names in labels]
    else:
        columns = parts_of(cells)
        are_labels = [np.asarray(column).dtype.kind not in "iuf" for column in columns]
    if len(columns) != len(labels):
        raise InvalidArgument(f"the cells have coordinates of {len(columns)} modes, but the model has {len(labels)}")
    if not any(are_labels):
        return columns_of(columns), None
    are_known = np.ones(len(columns[0]), bool)
    for n, by_label in enumerate(are_labels):
        if not by_label:
            continue
        names = labels[n]
        if names is None:
            raise InvalidArgument(f"mode {model.mode_names[n]!r} of the model has no labels; give its coordinates")
        columns[n] = _rows_of_labels(names, np.asarray(columns[n]), model.mode_names[n], unknown)
        are_known &= columns[n] >= 0
    if are_known.all():
        return columns_of(columns), None
    return columns_of([np.where(are_known, column, 0) for column in columns]), are_known
