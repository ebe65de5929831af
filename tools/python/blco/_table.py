"""Tables of other libraries, by the Arrow C stream that they offer: columns become modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._errors import InvalidArgument


class _Mode:
    """A column: whole numbers are indices, strings are labels, numbered as they appear."""

    def __init__(self, name: str):
        self.name = name
        self._parts: list[np.ndarray] = []
        self._numbers: dict[str, int] = {}
        self._has_labels = False

    def add(self, array: Any) -> None:
        import pyarrow
        from pyarrow import types

        if types.is_integer(array.type):
            self._parts.append(array.to_numpy(zero_copy_only=False))
            return
        if not types.is_dictionary(array.type):
            if not any(is_one(array.type) for is_one in (types.is_string, types.is_large_string, types.is_string_view)):
                raise InvalidArgument(
                    f"column {self.name!r} has the type {array.type}; a mode takes whole numbers, as indices, or "
                    "strings, as labels: cast it to one of them"
                )
            array = array.cast(pyarrow.large_string()).dictionary_encode()
        self._has_labels = True
        codes = array.indices.dictionary_encode()  # leaves out the labels that no row has
        labels = array.dictionary.cast(pyarrow.large_string()).take(codes.dictionary).to_pylist()
        numbers = np.array([self._numbers.setdefault(label, len(self._numbers)) for label in labels], dtype=np.uint32)
        self._parts.append(numbers[codes.indices.to_numpy(zero_copy_only=False)])

    def indices(self) -> np.ndarray:
        return np.concatenate(self._parts) if self._parts else np.zeros(0, np.uint32)

    def labels(self) -> list[str] | None:
        return list(self._numbers) if self._has_labels else None


def is_table(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__")


def entries_of(
    table: Any, modes: Sequence[str] | None, value: str | None
) -> tuple[list[np.ndarray], np.ndarray | None, list[list[str] | None]]:
    """The coordinates, values and labels of these columns. Reads the table batch by batch."""
    import pyarrow

    if not modes:
        raise InvalidArgument("modes: name the columns of the table that become modes")
    reader = pyarrow.RecordBatchReader.from_stream(table)
    for name in [*modes, *([value] if value else [])]:
        if reader.schema.get_field_index(name) < 0:
            names = ", ".join(reader.schema.names)
            raise InvalidArgument(f"the table has no column {name!r}, or several; its columns are {names}")
    columns = [_Mode(name) for name in modes]
    values = []
    rows = 0
    for batch in reader:
        for name in [*modes, *([value] if value else [])]:
            array = batch.column(name)
            if pyarrow.types.is_dictionary(array.type) and array.dictionary.null_count:
                array = array.dictionary_decode()  # where the rows of that label are null
            if array.null_count:
                row = rows + array.is_null().index(True).as_py()
                raise InvalidArgument(f"row {row} of column {name!r}, counted from 0, is null; leave such rows out")
        for column in columns:
            column.add(batch.column(column.name))
        if value:
            values.append(batch.column(value).cast(pyarrow.float64()).to_numpy(zero_copy_only=False))
        rows += batch.num_rows
    numbers = np.concatenate(values) if values else None
    return [column.indices() for column in columns], numbers, [column.labels() for column in columns]
