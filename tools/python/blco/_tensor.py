"""Tensors: in files, in memory, and in the arrays of others."""

from __future__ import annotations

import html
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrow, _blco
from ._arrays import entries_of, refuse_other
from ._errors import InvalidArgument, with_keywords
from ._progress import Progress, callback_of, interrupts_of_source
from ._words import (
    Orders,
    Path,
    Size,
    compression_of,
    html_table,
    is_path,
    labels_of,
    lengths_of,
    names_of,
    orders_of,
    refuse_inputs,
    size_in_bytes,
    warn_of_lost,
    whole,
)


class Tensor:
    """A sparse tensor, in a file or packed in memory. Made by `blco.open`, `blco.tensor` and `blco.ingest`. Pickles and
    copies of one in a file open that file anew. In a `with` statement it is closed at the end.
    """

    def __init__(self, handle: _blco.Tensor, path: Path | None = None, report: dict[str, Any] | None = None):
        self._open_handle: _blco.Tensor | None = handle
        self.path = path
        #: What the ingest read, if this tensor comes from one.
        self.report = report

    @property
    def shape(self) -> tuple[int, ...]:
        return self._handle.shape

    @property
    def order(self) -> int:
        return len(self.shape)

    @property
    def nnz(self) -> int:
        return self._handle.nnz

    @property
    def mode_names(self) -> tuple[str, ...]:
        return self._handle.mode_names

    @property
    def orders(self) -> tuple[int, ...]:
        """The modes of which there is a copy in their own order."""
        return self._handle.orders

    @property
    def labels(self) -> list[list[str] | None]:
        """Per mode the names of its indices, or None. Reads them anew each time."""
        return self._handle.labels

    @property
    def norm(self) -> float:
        """The root of the sum of squares."""
        return self._handle.sum_of_squares**0.5

    def to_coo(self, memory: Size | None = None, threads: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """All coordinates, nnz x order, and all values, in the stored order. Reads the whole tensor."""
        coordinates, values = _blco.read_tensor(self._handle, size_in_bytes(memory) or 0, whole("threads", threads), None)
        return coordinates.view(np.uint64) if max(self.shape) > 2**63 else coordinates, values

    @property
    def coords(self) -> np.ndarray:
        """The first of `to_coo()`."""
        return self.to_coo()[0]

    @property
    def values(self) -> np.ndarray:
        """The second of `to_coo()`."""
        return self.to_coo()[1]

    def to_arrow(self, memory: Size | None = None, threads: int = 0) -> Any:
        """A pyarrow.RecordBatchReader of all nonzeros in the stored order, a chunk at a time: a column per mode, its
        labels as a dictionary or its indices, and the column `value`.
        """
        return _arrow.tensor_reader(self._handle, self.mode_names, self.labels, size_in_bytes(memory) or 0, threads)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """That of `to_arrow()`, anew each time: for `pyarrow.table(tensor)`, `polars.DataFrame(tensor)` and the like."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_scipy(self, mode: int | None = None) -> Any:
        """A scipy.sparse.coo_array: of two modes as they are; with `mode` the unfolding of this mode, whose columns are
        the other modes' indices in order, the last one running fastest.
        """
        if mode is None and self.order != 2:
            raise InvalidArgument(f"a tensor of {self.order} modes is no matrix of scipy; give the `mode` to unfold")
        import scipy.sparse

        coords, values = self.to_coo()
        if mode is None:
            return scipy.sparse.coo_array((values, tuple(coords.T)), shape=self.shape)
        others = [n for n in range(self.order) if n != mode % self.order]
        lengths = [self.shape[n] for n in others]
        columns = np.ravel_multi_index(tuple(coords[:, others].T), lengths)
        return scipy.sparse.coo_array((values, (coords[:, mode], columns)), shape=(self.shape[mode], math.prod(lengths)))

    def to_pyttb(self) -> Any:
        """A pyttb.sptensor. It has no labels and no names of modes, which a warning says where they are lost."""
        import pyttb

        warn_of_lost("a pyttb.sptensor", self.mode_names, self.labels)
        coords, values = self.to_coo()
        return pyttb.sptensor(coords, values[:, np.newaxis], self.shape)

    def save(self, path: Path, memory: Size | None = None, threads: int = 0, orders: Orders | None = None) -> None:
        """Writes the tensor as a container, with its copies in the orders of modes, or with those of `orders` instead:
        "auto", "all", "none", or names and numbers of modes. Warns of a mode that is named and needs no copy."""
        _warn(_blco.save_tensor(self._handle, os.fspath(path), size_in_bytes(memory) or 0, whole("threads", threads),
                                orders_of(orders), None))

    @property
    def _handle(self) -> _blco.Tensor:
        if self._open_handle is None:
            raise InvalidArgument("this tensor has been closed")
        return self._open_handle

    def close(self) -> None:
        """Gives the file or the memory back, once no running job uses it. A closed tensor cannot be used any more."""
        self._open_handle = None

    def __enter__(self) -> Tensor:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def __reduce__(self) -> tuple:
        if self.path is not None:
            return open, (os.path.abspath(self.path),), {"report": self.report}
        return _of_coo, (*self.to_coo(), self.shape, self.mode_names, self.labels)

    def _summary(self, modes: str = "") -> str:
        place = "in memory" if self.path is None else os.fspath(self.path)
        return f"blco.Tensor {place}, {self.nnz:,} nonzeros, {modes}{self._handle.bytes / 2**20:.1f} MiB"

    def __repr__(self) -> str:
        if self._open_handle is None:
            return "<blco.Tensor, closed>"
        modes = (f"{name}: {length:,}, " for name, length in zip(self.mode_names, self.shape))
        return f"<{self._summary(''.join(modes))}>"

    def _repr_html_(self) -> str:
        if self._open_handle is None:
            return html.escape(repr(self))
        modes = [(name, f"{length:,}") for name, length in zip(self.mode_names, self.shape)]
        return html_table(self._summary(), ("mode", "length"), modes)


def _of_coo(coords: np.ndarray, values: np.ndarray, shape: Any, mode_names: Any, labels: Any) -> Tensor:
    return tensor(coords, values, shape, mode_names=mode_names, labels=labels)


def handle_of(tensor: Tensor) -> _blco.Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{type(tensor).__name__} is not a blco.Tensor; make one by blco.open, blco.tensor or blco.ingest")
    return tensor._handle


def open(path: Path) -> Tensor:
    """Opens a container."""
    return Tensor(_blco.open(os.fspath(path)), path)


def is_table(source: Any) -> bool:
    """As opposed to a column alone, which offers a stream too."""
    return hasattr(source, "__arrow_c_stream__") and (
        hasattr(source, "columns") or not (hasattr(source, "dtype") or hasattr(source, "type")))


def _name_of_column(option: str, word: Any, source: Any) -> str:
    """The name as a text. What is no text must be the name itself, as tables of pandas may have it, and is no place."""
    if isinstance(word, str):
        return word
    if _arrow.is_frame(source) and word is not None and word in [*source.columns, *source.index.names]:
        return str(word)
    raise InvalidArgument(f"{option}: no column has the name {word!r}; give names of columns, which are texts such as "
                          "'user', and not their places")


def _names_of_columns(modes: Any, value: Any, source: Any) -> dict[str, Any]:
    modes = names_of("modes", modes)
    return {"modes": modes and [_name_of_column("modes", mode, source) for mode in modes],
            "value": None if value is None else _name_of_column("value", value, source)}


def _columns(source: Any, modes: Any, value: Any, values: Any, labels: Any) -> dict[str, Any]:
    """What `modes` and `value` say of a table."""
    if values is not None or labels is not None:
        raise InvalidArgument("`values` and `labels` go with arrays; of a table, `value` names a column")
    columns = _names_of_columns(modes, value, source)
    if not columns["modes"]:
        raise InvalidArgument("modes: name the columns of the table that become modes")
    return columns


def _arrays(source: Any, values: Any, shape: Any, modes: Any, value: Any, labels: Any, dense: bool) -> tuple:
    """Coordinates, values and labels, and the shape."""
    refuse_other(source)
    if modes is not None or value is not None:
        raise InvalidArgument("`modes` and `value` name columns of a table with a column per mode, which a "
                              f"{type(source).__name__} is not; coordinates have `mode_names` and `values`")
    columns, numbers, shape = entries_of(source, values, lengths_of(shape), dense)
    return columns, numbers, labels_of(labels), shape


def _warn(notes: Sequence[str]) -> list[str]:
    """Warns the caller of `ingest`, `tensor` or `save` of what the notes of the library say."""
    texts = [with_keywords(note) for note in notes]
    for text in texts:
        warnings.warn(text, stacklevel=3)
    return texts


def _refuse(words: Mapping[str, Any], what: str) -> None:
    for name, option in words.items():
        if option is not None:
            raise InvalidArgument(f"`{name}` is about {what}; leave it out")


def tensor(
    coords: Any,
    values: Any = None,
    shape: Sequence[int] | None = None,
    *,
    modes: Sequence[str | int] | None = None,
    value: str | None = None,
    mode_names: Sequence[str] | None = None,
    labels: Sequence[Sequence[Any] | None] | None = None,
    dense: bool = False,
    missing: str | None = None,
    duplicates: str = "sum",
    compact: bool = False,
    orders: Orders | None = None,
    memory: Size | None = None,
    threads: int = 0,
    devices: str = "cpu",
    progress: Progress = False,
) -> Tensor:
    """Packs entries into memory: a matrix of coordinates from 0 with a row per entry, or a list of one array per mode,
    and their `values`, or one number for all of them; a sparse array of scipy, sparse or pyttb; or with `dense=True` an
    array of which the cells other than 0 become entries. Coordinates are read where they lie. `labels` has per mode a
    name for each index, or None; `compact` leaves out indices without entries, and makes labels of the others. `orders`
    are the modes that get a copy of all entries in an order of their own: "auto", "all", or names and numbers.

    Or a table that offers an Arrow C stream, such as one of pyarrow, polars, DuckDB or pandas: the columns `modes` become
    modes, whose labels are the column's texts or whole numbers, and the column `value` holds the values. Categories keep
    their order. As in tables of text a mode may be `user:index`, whose numbers are the indices themselves, `when:day`, by
    the clock of the column's time zone or with `when:day:utc` by UTC, or `price:bins=20`; `missing` says what becomes of
    rows with nulls.
    """
    words = {"duplicates": duplicates, "memory": size_in_bytes(memory), "threads": threads, "devices": devices,
             "compact": compact, "orders": orders_of(orders), "shape": lengths_of(shape),
             "mode_names": names_of("mode_names", mode_names)}
    if is_table(coords) and not dense:
        words |= _columns(coords, modes, value, values, labels) | {"missing": missing}
        coords = _arrow.table_of(coords, words["modes"], words["value"])
        with interrupts_of_source(), callback_of(progress) as shown:
            handle, notes = _blco.pack_table(coords, words, shown)
        _warn(notes)
        return Tensor(handle)
    _refuse({"missing": missing}, "tables")
    columns, numbers, names, lengths = _arrays(coords, values, shape, modes, value, labels, dense)
    if compact:  # of a sparse array: its shape holds what is left out
        lengths = lengths_of(shape)
    with callback_of(progress) as shown:
        handle, notes = _blco.make_tensor(columns, numbers, names, words | {"shape": lengths}, shown)
    _warn(notes)
    return Tensor(handle)


def ingest(
    source: Any,
    output: Path,
    *,
    values: Any = None,
    modes: Sequence[str | int] | None = None,
    value: str | None = None,
    shape: Sequence[int] | None = None,
    mode_names: Sequence[str] | None = None,
    labels: Sequence[Sequence[Any] | None] | Mapping[str | int, Path] | None = None,
    dense: bool = False,
    labels_from: Path | None = None,
    skip_unknown: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    quotes: str | None = None,
    missing: str | None = None,
    null: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    duplicates: str = "sum",
    reorder: str = "none",
    compact: bool = False,
    orders: Orders | None = None,
    compression: str | None = None,
    chunk_nnz: int | None = None,
    index_base: int | None = None,
    skip_lines: int | None = None,
    hold_out: float | None = None,
    held_out_to: Path | None = None,
    memory: Size | None = None,
    threads: int = 0,
    devices: str = "cpu",
    tmp: Path | None = None,
    progress: Progress = False,
) -> Tensor:
    """Writes a container and opens it. `source` is a path, or a list of paths, of all that blco-ingest reads (of a
    table, `modes` names the columns that become modes), or of Parquet, by pyarrow; or what `blco.tensor` takes, with
    `values`. The other options are those of blco-ingest. `labels` has files by mode, or for arrays lists of names.
    `Tensor.report` says what was read. What the input may mean otherwise than it was taken is a warning, and stands in
    its `notes`.
    """
    paths = [source] if is_path(source) else source
    files = labels if isinstance(labels, Mapping) else None
    of_text = {"separator": separator, "quotes": quotes, "index_base": index_base, "skip_lines": skip_lines,
               "null": names_of("null", null), "columns": names_of("columns", columns)}
    of_tables = {"labels_from": labels_from, "skip_unknown": skip_unknown, "decimal": decimal, "missing": missing}
    words = {"labels": files and dict(files), "duplicates": duplicates, "reorder": reorder, "chunk_nnz": chunk_nnz,
             "compact": compact, "orders": orders_of(orders), "hold_out": hold_out, "held_out_to": held_out_to,
             "memory": size_in_bytes(memory), "threads": threads, "devices": devices, "tmp": tmp, "shape": lengths_of(shape),
             "mode_names": names_of("mode_names", mode_names)} | compression_of(compression)
    if files is not None and mode_names is not None:
        names = list(mode_names)
        files = {names[mode] if isinstance(mode, int) and mode < len(names) else mode: file
                 for mode, file in files.items()}
        words["labels"] = files
    has_paths = isinstance(paths, (list, tuple)) and paths and all(map(is_path, paths))
    for written in (output, held_out_to):
        refuse_inputs(written, *(paths if has_paths else ()), *(files or {}).values())
    if has_paths and all(map(_arrow.is_parquet, paths)):
        named = [*_columns(source, modes, value, values, None if files else labels)["modes"], value]
        source, has_paths = _arrow.Parquet(paths, [name for name in named if name]), False
    if has_paths:
        if values is not None or (labels is not None and files is None):
            raise InvalidArgument("`values` and lists of `labels` go with arrays; files have their own")
        words |= of_text | of_tables | _names_of_columns(modes, value, source)
        with callback_of(progress) as shown:
            report = _blco.ingest_paths(list(paths), output, words, shown)
    elif is_table(source) and not dense:
        _refuse(of_text, "files of text")
        words |= of_tables | _columns(source, modes, value, values, None if files else labels)
        source = _arrow.table_of(source, words["modes"], words["value"])
        with interrupts_of_source(), callback_of(progress) as shown:
            report = _blco.ingest_table(source, output, words, shown)
    else:
        _refuse(of_text | of_tables, "files of text and tables")
        arrays = _arrays(source, values, shape, modes, value, None if files else labels, dense)
        columns, numbers, names, lengths = arrays
        if compact:  # of a sparse array: its shape holds what is left out
            lengths = lengths_of(shape)
        with callback_of(progress) as shown:
            report = _blco.ingest_arrays(columns, numbers, names, output, words | {"shape": lengths}, shown)
    report["notes"] = _warn(report["notes"])
    return Tensor(_blco.open(output), output, report)
