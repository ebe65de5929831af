"""What `progress=` of the functions means."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _blco
from ._errors import IoError

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


@contextmanager
def interrupts_of_source() -> Iterator[None]:
    """While an Arrow stream is read: Ctrl-C within a source that is Python itself ends in what its handler raises. The
    stream has no more than a message of it.
    """
    raised: list[BaseException] = []
    usual: Any = signal.getsignal(signal.SIGINT)

    def handle(*signaled: Any) -> None:
        try:
            usual(*signaled)
        except BaseException as error:
            raised.append(error)
            raise

    is_watched = callable(usual) and threading.current_thread() is threading.main_thread()
    if is_watched:
        signal.signal(signal.SIGINT, handle)
    try:
        yield
    except IoError as error:
        if not raised and re.search(r"\bKeyboardInterrupt\s*\Z", str(error)):  # by the source itself
            raised.append(KeyboardInterrupt())
        if raised:
            raise raised[0] from None
        raise
    finally:
        if is_watched:
            signal.signal(signal.SIGINT, usual)
        raised.clear()  # the exception's own frames hold this list
