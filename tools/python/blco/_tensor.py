"""Tensors: in files, in memory, and in the arrays of others."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrow, _blco
from ._errors import InvalidArgument, with_keywords, words_of
from ._progress import Progress, callback_of, interrupts_of_source

Path = str | os.PathLike
Size = int | str

_UNITS = {"": 1, "b": 1, "k": 2**10, "kib": 2**10, "kb": 10**3, "m": 2**20, "mib": 2**20, "mb": 10**6,
          "g": 2**30, "gib": 2**30, "gb": 10**9, "t": 2**40, "tib": 2**40, "tb": 10**12}


def size_in_bytes(size: Size | None) -> int | None:
    """Bytes of a number or of a text such as "2GiB"."""
    if not isinstance(size, str):
        return size
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", size.lower())
    if found is None or found[2] not in _UNITS:
        raise InvalidArgument(f"{size!r} is not a size, such as '512MiB', '2GiB' or a number of bytes")
    return int(float(found[1]) * _UNITS[found[2]])


def _compression(word: str | None) -> dict[str, int]:
    """The library's options for a word of --compression."""
    if word is None or word == "auto":
        return {}
    known = {"none": (0, 0), "fast": (3, 10), "small": (12, 0)} | {f"zstd:{n}": (n, 10) for n in range(1, 20)}
    if word not in known:
        choices = "none, auto, fast, small and zstd:N with N from 1 to 19"
        raise InvalidArgument(f"compression: {word!r} is none of {choices}")
    return dict(zip(("zstd_level", "zstd_saving_percent"), known[word]))


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def refuse_inputs(output: Path | None, *inputs: Any) -> None:
    """An output that is also an input would take its place."""
    for source in filter(_is_path, inputs):
        file = source if os.path.exists(source) else os.fspath(source).split(":/")[0]
        if output is not None and os.path.exists(output) and os.path.exists(file) and os.path.samefile(output, file):
            raise InvalidArgument(f"the output {os.fspath(output)} is also an input; choose another name")


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
    return array if array.dtype.itemsize >= 4 else array.astype(np.int64)


def _values(array: Any) -> np.ndarray:
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


def columns_of(coords: Any) -> list[np.ndarray]:
    """One array of indices per mode, of a matrix with a row per entry or of a sequence of arrays."""
    rows = (list, tuple, int)  # of a matrix
    if isinstance(coords, (list, tuple)) and coords and not any(isinstance(part, rows) for part in coords) and all(
        np.ndim(part) == 1 for part in coords
    ):
        return [_column(part, f"the coordinates of mode {n}") for n, part in enumerate(coords)]
    matrix = _column(coords, "the coordinates")
    if matrix.ndim != 2:
        raise InvalidArgument(
            f"the coordinates have {matrix.ndim} dimensions; give a matrix with a row per entry, or a list of one "
            "array per mode"
        )
    return list(matrix.T)


def _entries(source: Any, values: Any, shape: Any) -> tuple[list[np.ndarray], np.ndarray | None, Any]:
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
        shape = source.shape if shape is None else shape
        source, values = found
    if shape is not None:
        shape = [int(length) for length in shape]
    return columns_of(source), None if values is None else _values(values), shape


class Tensor:
    """A sparse tensor, in a file or packed in memory. Made by `blco.open`, `blco.tensor` and `blco.ingest`."""

    def __init__(self, handle: _blco.Tensor, path: Path | None = None, report: dict[str, Any] | None = None):
        self._handle = handle
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
    def labels(self) -> list[list[str] | None]:
        """Per mode the names of its indices, or None. Reads them anew each time."""
        return self._handle.labels

    @property
    def norm(self) -> float:
        """The root of the sum of squares."""
        return self._handle.sum_of_squares**0.5

    def to_coo(self, memory: Size | None = None, threads: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """All coordinates, nnz x order, and all values, in the stored order. Reads the whole tensor."""
        coordinates, values = _blco.read_tensor(self._handle, size_in_bytes(memory) or 0, threads, None)
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
        """A pyttb.sptensor."""
        import pyttb

        coords, values = self.to_coo()
        return pyttb.sptensor(coords, values[:, np.newaxis], self.shape)

    def save(self, path: Path, memory: Size | None = None, threads: int = 0) -> None:
        """Writes the tensor as a container."""
        _blco.save_tensor(self._handle, path, size_in_bytes(memory) or 0, threads, None)

    def __repr__(self) -> str:
        modes = ", ".join(f"{name}: {length:,}" for name, length in zip(self.mode_names, self.shape))
        place = "in memory" if self.path is None else os.fspath(self.path)
        return f"<blco.Tensor {place}, {self.nnz:,} nonzeros, {modes}, {self._handle.bytes / 2**20:.1f} MiB>"


def handle_of(tensor: Tensor) -> _blco.Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{type(tensor).__name__} is not a blco.Tensor; make one by blco.open, blco.tensor or blco.ingest")
    return tensor._handle


def open(path: Path) -> Tensor:
    """Opens a container."""
    return Tensor(_blco.open(path), path)


def _listed(given: Any) -> list | None:
    return None if given is None else list(given)


def _is_table(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__")


def _columns(modes: Any, value: Any, values: Any, labels: Any) -> dict[str, Any]:
    """What `modes` and `value` say of a table."""
    if values is not None or labels is not None:
        raise InvalidArgument("`values` and `labels` go with arrays; of a table, `value` names a column")
    modes = _listed(modes)
    if not modes:
        raise InvalidArgument("modes: name the columns of the table that become modes")
    return {"modes": modes, "value": value}


def _arrays(source: Any, values: Any, shape: Any, modes: Any, value: Any, labels: Any) -> tuple:
    """Coordinates, values and labels, and the shape."""
    if modes is not None or value is not None:
        raise InvalidArgument("`modes` and `value` name columns of a table; coordinates have `mode_names` and `values`")
    columns, numbers, shape = _entries(source, values, shape)
    labels = None if labels is None else [_listed(names) for names in labels]
    return columns, numbers, labels, shape


def _warn(notes: Sequence[str]) -> list[str]:
    """Warns the caller of `ingest` or `tensor` of what the input may mean otherwise than it was taken."""
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
    modes: Sequence[str] | None = None,
    value: str | None = None,
    mode_names: Sequence[str] | None = None,
    labels: Sequence[Sequence[str] | None] | None = None,
    missing: str | None = None,
    duplicates: str = "sum",
    memory: Size | None = None,
    threads: int = 0,
    devices: str = "cpu",
    progress: Progress = False,
) -> Tensor:
    """Packs entries into memory: a matrix of coordinates from 0 with a row per entry, or a list of one array per mode,
    and their values, all 1 without; or a sparse array of scipy, sparse or pyttb. Arrays are read where they lie.
    `labels` has per mode a name for each index, or None.

    Or a table that offers an Arrow C stream, such as one of pyarrow, polars, DuckDB or pandas: the columns `modes` become
    modes, whole numbers as indices and strings as labels, and the column `value` holds the values. As in tables of text
    a mode may be `when:day` or `price:bins=20`, and `missing` says what becomes of rows with nulls.
    """
    words = {"duplicates": duplicates, "memory": size_in_bytes(memory), "threads": threads, "devices": devices,
             "shape": _listed(shape), "mode_names": _listed(mode_names)}
    if _is_table(coords):
        words |= _columns(modes, value, values, labels) | {"missing": missing}
        with interrupts_of_source(), callback_of(progress) as shown:
            handle, notes = _blco.pack_table(coords, words, shown)
        _warn(notes)
        return Tensor(handle)
    _refuse({"missing": missing}, "tables")
    columns, numbers, labels, shape = _arrays(coords, values, shape, modes, value, labels)
    with callback_of(progress) as shown:
        return Tensor(_blco.make_tensor(columns, numbers, labels, words | {"shape": _listed(shape)}, shown))


def ingest(
    source: Any,
    output: Path,
    *,
    values: Any = None,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    shape: Sequence[int] | None = None,
    mode_names: Sequence[str] | None = None,
    labels: Sequence[Sequence[str] | None] | Mapping[str | int, Path] | None = None,
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
    paths = [source] if _is_path(source) else source
    files = labels if isinstance(labels, Mapping) else None
    of_text = {"separator": separator, "quotes": quotes, "index_base": index_base, "skip_lines": skip_lines,
               "null": [null] if isinstance(null, str) else _listed(null),
               "columns": [columns] if isinstance(columns, str) else _listed(columns)}
    of_tables = {"labels_from": labels_from, "skip_unknown": skip_unknown, "decimal": decimal, "missing": missing}
    words = {"labels": files and dict(files), "duplicates": duplicates, "reorder": reorder, "chunk_nnz": chunk_nnz,
             "compact": compact,
             "hold_out": hold_out, "held_out_to": held_out_to, "memory": size_in_bytes(memory), "threads": threads,
             "devices": devices, "tmp": tmp, "shape": _listed(shape),
             "mode_names": _listed(mode_names)} | _compression(compression)
    if files is not None and mode_names is not None:
        names = list(mode_names)
        files = {names[mode] if isinstance(mode, int) and mode < len(names) else mode: file
                 for mode, file in files.items()}
        words["labels"] = files
    has_paths = isinstance(paths, (list, tuple)) and paths and all(map(_is_path, paths))
    for written in (output, held_out_to):
        refuse_inputs(written, *(paths if has_paths else ()), *(files or {}).values())
    if has_paths and all(map(_arrow.is_parquet, paths)):
        named = [*_columns(modes, value, values, None if files else labels)["modes"], value]
        source, has_paths = _arrow.Parquet(paths, [name for name in named if name]), False
    if has_paths:
        if values is not None or (labels is not None and files is None):
            raise InvalidArgument("`values` and lists of `labels` go with arrays; files have their own")
        words |= of_text | of_tables | {"modes": _listed(modes), "value": value}
        with callback_of(progress) as shown:
            report = _blco.ingest_paths(list(paths), output, words, shown)
    elif _is_table(source):
        _refuse(of_text, "files of text")
        words |= of_tables | _columns(modes, value, values, None if files else labels)
        with interrupts_of_source(), callback_of(progress) as shown:
            report = _blco.ingest_table(source, output, words, shown)
    else:
        _refuse(of_text | of_tables, "files of text and tables")
        given = shape
        columns, numbers, names, shape = _arrays(source, values, shape, modes, value, None if files else labels)
        if compact:
            shape = given
        with callback_of(progress) as shown:
            report = _blco.ingest_arrays(columns, numbers, names, output, words | {"shape": _listed(shape)}, shown)
    report["notes"] = _warn(report["notes"])
    return Tensor(_blco.open(output), output, report)
