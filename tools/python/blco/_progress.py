"""What `progress=` of the functions means."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import _blco

Progress = bool | Callable[[_blco.Progress], bool | None]


def _print(at: _blco.Progress) -> None:
    share = "" if at.share < 0 else f" {at.share:4.0%}"
    sweep = f" {at.sweep}" if at.sweep else ""
    print(f"\r{at.stage}{sweep}{share}  ", end="", file=sys.stderr, flush=True)


@contextmanager
def callback_of(progress: Progress) -> Iterator[Callable[[_blco.Progress], bool | None] | None]:
    """True shows a line on standard error; a function is called itself."""
    if progress is not True:
        yield progress or None
        return
    try:
        yield _print
    finally:
        print(file=sys.stderr)
