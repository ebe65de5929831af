"""What `progress=` of the functions means."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from . import _blco
from ._errors import InvalidArgument, IoError

Progress = bool | Callable[[_blco.Progress], bool | None]


def _stage_of(at: _blco.Progress) -> str:
    return f"{at.stage} {at.sweep}" if at.sweep else at.stage


def _print(at: _blco.Progress) -> None:
    share = "" if at.share < 0 else f" {at.share:4.0%}"
    print(f"\r{_stage_of(at)}{share}  ", end="", file=sys.stderr, flush=True)


class _Bar:
    """A bar of tqdm, in terminals and notebooks: one for each stage."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm, self._bar, self._stage = tqdm, None, ""

    def __call__(self, at: _blco.Progress) -> None:
        stage = _stage_of(at)
        if self._bar is None or stage != self._stage:
            self.close()
            self._stage, self._bar = stage, self._tqdm(desc=stage, total=100, bar_format="{desc} {percentage:3.0f}% {bar}")
        self._bar.update(max(0, round(100 * at.share) - self._bar.n))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextmanager
def callback_of(progress: Progress) -> Iterator[Callable[[_blco.Progress], bool | None] | None]:
    """True shows a bar where tqdm is installed, else a line on standard error; a function is called itself."""
    if progress is not True:
        if progress and not callable(progress):
            raise InvalidArgument(f"progress: {progress!r} is neither True nor a function")
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        pass
    else:
        with closing(_Bar(tqdm)) as bar:
            yield bar
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
