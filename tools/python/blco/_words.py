"""What callers give beside arrays: numbers, sizes, names, labels and paths, as the extension reads them."""

from __future__ import annotations

import datetime
import html
import operator
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import InvalidArgument

Path = str | os.PathLike
Size = int | str
Orders = str | int | Sequence[str | int]

_UNITS = {"": 1, "b": 1, "k": 2**10, "kib": 2**10, "kb": 10**3, "m": 2**20, "mib": 2**20, "mb": 10**6,
          "g": 2**30, "gib": 2**30, "gb": 10**9, "t": 2**40, "tib": 2**40, "tb": 10**12}


def whole(name: str, number: Any, least: int = 0) -> int:
    """A whole number, of Python or NumPy."""
    try:
        value = operator.index(number)
    except TypeError:
        raise InvalidArgument(f"{name}: {number!r} is not a whole number") from None
    if value < least:
        raise InvalidArgument(f"{name}: {value} is below {least}")
    return value


def size_in_bytes(size: Size | None) -> int | None:
    """Bytes of a number or of a text such as "2GiB"."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", size.lower()) if isinstance(size, str) else None
    if found is not None and found[2] in _UNITS:
        return int(float(found[1]) * _UNITS[found[2]])
    if size is None or (not isinstance(size, str) and hasattr(size, "__index__")):
        return None if size is None else whole("memory", size)
    raise InvalidArgument(f"{size!r} is not a size, such as '512MiB', '2GiB' or a number of bytes")


def compression_of(word: str | None) -> dict[str, int]:
    """The library's options for a word of --compression."""
    if word is None or word == "auto":
        return {}
    known = {"none": (0, 0), "fast": (3, 10), "small": (12, 0)} | {f"zstd:{n}": (n, 10) for n in range(1, 20)}
    if word not in known:
        choices = "none, auto, fast, small and zstd:N with N from 1 to 19"
        raise InvalidArgument(f"compression: {word!r} is none of {choices}")
    return dict(zip(("zstd_level", "zstd_saving_percent"), known[word]))


def is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def refuse_inputs(output: Path | None, *inputs: Any) -> None:
    """An output that is also an input would take its place."""
    for source in filter(is_path, inputs):
        file = source if os.path.exists(source) else os.fspath(source).split(":/")[0]
        if output is not None and os.path.exists(output) and os.path.exists(file) and os.path.samefile(output, file):
            raise InvalidArgument(f"the output {os.fspath(output)} is also an input; choose another name")


def names_of(name: str, given: Any) -> list | None:
    """A list of names; a text has commas between them, as in the programs."""
    if isinstance(given, str):
        return given.split(",")
    if given is None or np.iterable(given):
        return None if given is None else list(given)
    raise InvalidArgument(f"{name}: {given!r} is not a list of names")


def orders_of(given: Any) -> list | None:
    """What `orders` asks for: a word, or modes by name or number."""
    given = [given] if isinstance(given, (int, np.integer)) and not isinstance(given, bool) else given
    names = names_of("orders", given)
    return names and [name if isinstance(name, str) else str(whole("orders", name)) for name in names]


def lengths_of(given: Any) -> list[int] | None:
    """The lengths of a shape."""
    if isinstance(given, str) or not (given is None or np.iterable(given)):
        raise InvalidArgument(f"shape: {given!r} is not a list of lengths, such as (3, 4, 5)")
    return None if given is None else [whole("shape", length) for length in given]


def _label(label: Any, place: str) -> str:
    if isinstance(label, (int, np.integer, datetime.date)):
        return str(label)
    if not isinstance(label, str):
        raise InvalidArgument(f"{place} is {label!r}; give a text")
    try:
        label.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{place}, {label!r}, is not valid Unicode") from None
    return str(label)


def labels_of(given: Any) -> list[list[str] | None] | None:
    """Per mode the names of its indices, or None."""
    if given is None:
        return None
    if isinstance(given, (str, Mapping)) or not np.iterable(given):
        raise InvalidArgument(f"labels: give a list per mode of names for its indices, or None, not {given!r:.80}")
    modes: list[list[str] | None] = []
    for n, names in enumerate(given):
        if isinstance(names, str) or not (names is None or np.iterable(names)):
            raise InvalidArgument(f"labels: give mode {n} a list of names, or None, not {names!r:.80}")
        modes.append(None if names is None else [_label(name, f"label {i} of mode {n}") for i, name in enumerate(names)])
    return modes


def warn_of_lost(kind: str, mode_names: Sequence[str], labels: Sequence[Any]) -> None:
    """What a kind of others does not hold."""
    has_names = any(name != f"mode{n}" for n, name in enumerate(mode_names))
    lost = ["labels"] * any(names is not None for names in labels) + ["names of modes"] * has_names
    if lost:
        warnings.warn(f"{kind} has no {' and no '.join(lost)}; keep those of this object beside it", stacklevel=3)


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """For notebooks."""
    lines = [(head, "th"), *((row, "td") for row in rows)]
    cells = ("".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) for texts, tag in lines)
    return f"<p>{html.escape(title)}</p><table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
