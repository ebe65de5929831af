"""The exceptions of the library: one class for each kind of error, each also the usual one of Python."""

import functools
import re
from types import ModuleType
from typing import Any

from . import _blco


class Error(Exception):
    """Whatever the library refuses or fails at. `model` is the last one of a fit that was stopped, if there is one."""

    model = None


class InvalidArgument(Error, ValueError):
    """The request or the input is to be changed."""


class IoError(Error, OSError):
    """A file cannot be read or written."""


class CorruptError(Error, OSError):
    """A file is damaged."""


class OutOfMemory(Error, MemoryError):
    """The budget is below the least that suffices, which the message names."""


class DeviceError(Error, RuntimeError):
    """The GPU cannot be used."""


class NotBuilt(Error, RuntimeError):
    """This build does not have what is asked for."""


class Cancelled(Error, RuntimeError):
    """A callback ended the job before there was a result."""


KINDS = {
    "invalid_argument": InvalidArgument,
    "io": IoError,
    "corrupt": CorruptError,
    "out_of_memory": OutOfMemory,
    "cuda": DeviceError,
    "not_built": NotBuilt,
    "cancelled": Cancelled,
}

# What the library calls its options, where a keyword of this module has another name.
KEYWORDS = {option["field"]: option["name"] for option in _blco.options()} | {
    "label_files": "labels",
    "max_error": "error",
    "memory_bytes": "memory",
    "names": "columns",
    "null_words": "null",
    "sorts_on_gpu": "devices",
    "temporary_directory": "tmp",
}


def words_of(error: BaseException) -> str:
    """What an exception says, or its type's name."""
    return str(error) or type(error).__name__


def with_keywords(message: str) -> str:
    """A message of the library, with the keywords of this module in the place of its options."""

    def keyword(found):
        name, value = found.groups()
        name = KEYWORDS.get(name, name)
        if value is None:
            return f"`{name}`"
        return f"`{name}={value}`" if re.fullmatch(r"[\d.]+", value) else f"`{name}={value!r}`"

    return re.sub(r"`(?:\w+\.)*(\w+)(?: = ([^`]*))?`", keyword, message)


def tell_types(extension: ModuleType) -> None:
    """Its functions then say in one line which types they cannot take, not all that they could have."""

    def telling(function: Any) -> Any:
        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except TypeError as error:
                words, mark, types = str(error).partition("Invoked with types: ")
                if not mark or "incompatible function arguments" not in words:
                    raise
                raise TypeError(f"{function.__name__}: one of these types cannot be taken: {types}") from None

        return call

    for name, function in list(vars(extension).items()):
        if type(function).__name__ == "nb_func":
            setattr(extension, name, telling(function))


def of_kind(kind: str, message: str) -> Error:
    """The exception for an error of the library."""
    return KINDS[kind](with_keywords(message))
