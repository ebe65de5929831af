"""Components as pictures by matplotlib: labels that are times or numbers in their own order, others by size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InvalidArgument

if TYPE_CHECKING:
    from ._model import Model

_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_BIN = re.compile(r"[\[(](.+), .+[\])]")
# Months, quarters, weeks, days and parts of days, as tables give them: in the order of their texts.
_TIME = re.compile(r"\d{4}-(Q\d|W\d\d|\d\d(-\d\d([T ]\d\d(:\d\d)*)?)?)")

_MOST_BARS = 31
_MOST_NAMES = 8  # along an axis
_MOST_LETTERS = 24


def _key_of(label: str) -> tuple[str, Any] | None:
    """What orders a label among those of its kind."""
    if label in _WEEKDAYS:
        return "weekday", _WEEKDAYS.index(label)
    if _NUMBER.fullmatch(label):
        return "number", float(label)
    if _TIME.fullmatch(label):
        return "time", label
    found = _BIN.fullmatch(label)
    return ("bin", float(found[1])) if found and _NUMBER.fullmatch(found[1]) else None


def own_order(labels: Sequence[str]) -> list[int] | None:
    """The places of labels that are all weekdays, times, numbers or bins, in their own order; None of others. The last
    may be another, that of rows without one.
    """
    if _key_of(labels[0]) is None:
        return None
    keys = [_key_of(label) for label in labels]
    last = [len(keys) - 1] if keys[-1] is None else []
    known = [key for key in keys if key is not None]
    if len(known) + len(last) < len(keys) or len({kind for kind, _ in known}) > 1:
        return None
    return sorted(range(len(known)), key=known.__getitem__) + last


def _plain(text: Any) -> str:
    """A text as matplotlib shows it letter by letter, not as a formula."""
    return str(text)[:_MOST_LETTERS].replace("$", r"\$")


def _draw_in_order(axes: Any, values: np.ndarray, names: Sequence[str]) -> None:
    if len(values) <= _MOST_BARS:
        axes.bar(range(len(values)), values)
    else:
        axes.plot(values, linewidth=1)
    places = np.unique(np.linspace(0, len(names) - 1, min(len(names), _MOST_NAMES)).round().astype(int))
    shown = [_plain(names[place]) for place in places]
    is_long = max(map(len, shown)) > 4
    axes.set_xticks(places, shown, rotation=30 if is_long else 0, ha="right" if is_long else "center")


def _axes_of(ax: Any, rows: int, columns: int, entries: int) -> tuple[Any, np.ndarray]:
    """The figure, and its axes by component and mode."""
    from matplotlib import pyplot

    if ax is None:
        size = (4 * columns, max(2, 0.26 * entries) * rows)  # inches; a label takes a quarter of one
        figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        if "inline" in pyplot.get_backend():  # a notebook shows what a cell returns, and what pyplot keeps
            pyplot.close(figure)
        return figure, axes
    given = np.array(ax, dtype=object).ravel()
    if len(given) != rows * columns or not all(hasattr(one, "barh") for one in given):
        raise InvalidArgument(f"ax: give {rows * columns} axes of matplotlib, for {rows} components of {columns} modes")
    return given[0].figure, given.reshape(rows, columns)


def draw(model: Model, components: int, entries: int, modes: Sequence[int], ax: Any) -> Any:
    """A matplotlib figure: a row for each component, a column for each mode."""
    top = model.top(entries)[:components]
    figure, all_axes = _axes_of(ax, len(top), len(modes), entries)
    labels = model.labels
    for n, column in zip(modes, all_axes.T):
        name = model.mode_names[n]
        numbers = [component.number for component in top]
        factor = model.factors[n][:, numbers]
        reach = 1.05 * np.array([min(factor.min(), 0), max(factor.max(), 0)])
        names = labels[n]
        order = None if names is None else own_order(names)
        for component, axes, values in zip(top, column, factor.T):
            if names is None:
                axes.plot(values, linewidth=1)
                axes.set_ylim(*reach)
            elif order is not None:
                _draw_in_order(axes, values[order], [names[place] for place in order])
                axes.set_ylim(*reach)
            elif component.modes[name]:
                largest, sizes = zip(*component.modes[name][::-1])
                axes.barh(range(len(sizes)), sizes, tick_label=list(map(_plain, largest)))
                axes.set_xlim(*reach)
        column[0].set_title(_plain(name))
    for component, axes in zip(top, all_axes[:, 0]):
        axes.set_ylabel(f"{component.number}: {component.share:.1%}")
    return figure
