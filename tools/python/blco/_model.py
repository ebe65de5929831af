"""Models: their numbers as NumPy arrays, files, summaries and values of cells."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, TypeVar

import numpy as np

from . import _arrow, _blco
from ._errors import InvalidArgument
from ._progress import Progress, callback_of
from ._cells import coordinates_in
from ._plot import draw
from ._tensor import Tensor, handle_of
from ._words import (
    Path,
    Size,
    html_table,
    labels_of,
    names_of,
    refuse_inputs,
    size_in_bytes,
    warn_of_lost,
    whole,
)

MOST_SHOWN = 20  # components, in a notebook


def _shown(name: str | int) -> str:
    """In quotes where it would run into its neighbours."""
    return f'"{name}"' if {" ", ","} & set(str(name)) else str(name)


@dataclass(frozen=True)
class Component:
    """A component with its largest entries: per mode (label or index, value), by falling magnitude."""

    number: int
    weight: float
    share: float
    modes: dict[str, list[tuple[str | int, float]]]

    def __repr__(self) -> str:
        lines = [f"component {self.number}  weight {self.weight:.6g}  share {self.share:.1%}"]
        width = max(map(len, self.modes), default=0)
        for mode, entries in self.modes.items():
            lines.append(f"  {mode:<{width}}  " + ", ".join(f"{_shown(name)} {value:.3f}" for name, value in entries))
        return "\n".join(lines)


class Summary(list):
    """Components by falling weight."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


@dataclass(frozen=True)
class Match:
    """Which component of one model is which of another: (component, other, score, congruence) per pair. A score of 1
    is the same model.
    """

    score: float
    pairs: list[tuple[int, int, float, float]]


Kind = TypeVar("Kind", bound="FittedModel")


def number_of_mode(mode: Any, names: Sequence[str]) -> int:
    """The mode of this name, or of the word by which a table named it, such as "when:day", or of this number."""
    word = mode if isinstance(mode, str) else ""
    while word:
        if word in names:
            return names.index(word)
        word = word.rpartition(":")[0]
    if isinstance(mode, str) or not 0 <= whole("mode", mode, -len(names)) < len(names):
        raise InvalidArgument(f"mode {mode!r} does not exist; the modes are {', '.join(names)}")
    return whole("mode", mode)


class FittedModel:
    """What CP and Tucker models have alike."""

    _handle: _blco.Model | _blco.TuckerModel
    _column = "column"
    #: How alike the starts of the fit are, if it had several: count, best, reaching, lowest_match, mean_match, and runs,
    #: each with its seed and its matches.
    starts: SimpleNamespace | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self._handle.shape

    @property
    def factors(self) -> list[np.ndarray]:
        """Per mode, rows x rank: read-only views of the model's own numbers, which they keep alive."""
        return [self._handle.factor(n) for n in range(len(self.shape))]

    @property
    def method(self) -> str:
        return self._handle.method

    @property
    def seed(self) -> int:
        return self._handle.seed

    @property
    def stop_reason(self) -> str:
        return self._handle.stop_reason

    @property
    def fit_history(self) -> list[float]:
        """After each sweep."""
        return self._handle.fit_history

    @property
    def mode_names(self) -> tuple[str, ...]:
        return self._handle.mode_names

    @property
    def labels(self) -> list[list[str] | None]:
        """Per mode the names of its rows, or None."""
        return self._handle.labels

    def _mode_number(self, mode: int | str) -> int:
        return number_of_mode(mode, self.mode_names)

    def _chosen(self, rows: Sequence[Any]) -> list[np.ndarray]:
        """Of each factor the rows that `reconstruct` is asked for."""
        if len(rows) != len(self.shape):
            raise InvalidArgument(f"{len(rows)} selections of rows for {len(self.shape)} modes; give one per mode")
        blocks = [np.atleast_2d(factor[list(chosen) if isinstance(chosen, tuple) else chosen])
                  for factor, chosen in zip(self.factors, rows)]
        if any(block.ndim > 2 for block in blocks):
            raise InvalidArgument("rows of a mode are chosen by a number, a slice, or a list of numbers")
        return blocks

    def to_frame(self, mode: int | str | None = None) -> Any:
        """A pandas.DataFrame with a row per label or index and a column per column of the factor; of all modes
        without `mode`, indexed by mode and label.
        """
        import pandas

        if mode is None:
            return pandas.concat({name: self.to_frame(n) for n, name in enumerate(self.mode_names)}, names=["mode"])
        number = self._mode_number(mode)
        columns = [f"{self._column}_{r}" for r in range(self.factors[number].shape[1])]
        index = pandas.Index(self.labels[number] or range(self.shape[number]), name=self.mode_names[number])
        return pandas.DataFrame(self.factors[number].copy(), index=index, columns=columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows of all factors: `mode`, `index`, `label` or null, and a column per column of the factors. Anew each
        time, and some rows at a time: for `pyarrow.table(model)`, `polars.DataFrame(model)` and the like.
        """
        reader = _arrow.model_reader(self.factors, self.mode_names, self.labels, self._column)
        return reader.__arrow_c_stream__(requested_schema)

    @classmethod
    def load(cls: type[Kind], path: Path) -> Kind:
        """Loads a model of this class; `blco.load` takes any."""
        model = load(path)
        if not isinstance(model, cls):
            raise InvalidArgument(f"{os.fspath(path)} is a {type(model).__name__}, not a {cls.__name__}")
        return model

    def save(self, path: Path) -> None:
        """Writes the model as HDF5; a file of this name is replaced once the new one is complete."""
        _blco.save_model(self._handle, os.fspath(path))

    def __reduce__(self) -> tuple:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.h5")
            self.save(path)
            with open(path, "rb") as file:
                return _from_bytes, (file.read(),), self._state()

    def _state(self) -> dict[str, Any]:
        """What no file of a model has."""
        return {"starts": self.starts}


def _made(factors: Any, weights: Any, labels: Any, mode_names: Any) -> _blco.Model:
    """A model of the factors and weights that are given, or that a model of pyttb or tensorly has."""
    if hasattr(factors, "weights") and (hasattr(factors, "factor_matrices") or hasattr(factors, "factors")):
        weights = factors.weights if weights is None else weights
        factors = factors.factor_matrices if hasattr(factors, "factor_matrices") else factors.factors
    matrices = matrices_of(factors)
    if weights is None:
        weights = np.ones(matrices[0].shape[1] if matrices else 0)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 1:
        raise InvalidArgument(f"the weights have {weights.ndim} dimensions; give one per component")
    if not all(np.isfinite(numbers).all() for numbers in (*matrices, weights)):
        raise InvalidArgument("the factors and weights of a model must be finite")
    return _blco.make_model(matrices, weights.tolist(), labels_of(labels), names_of("mode_names", mode_names))


class Model(FittedModel):
    """A CP model: cells are sum_r weights[r] * factors[0][i, r] * factors[1][j, r] * ...

    Made by `blco.fit_cpd` and `blco.load`; of another model, a ktensor of pyttb or a CPTensor of tensorly; or of given
    factors, each rows x rank, and `weights`, 1 without. The numbers stay as they are given; order and shares of
    components count the norms of their columns.
    """

    _handle: _blco.Model
    _column = "component"

    def __init__(
        self,
        factors: Model | Sequence[Any] | _blco.Model,
        weights: Any = None,
        *,
        labels: Sequence[Sequence[Any] | None] | None = None,
        mode_names: Sequence[str] | None = None,
    ):
        if isinstance(factors, Model):
            self.starts = factors.starts
            if weights is None and labels is None and mode_names is None:
                factors = factors._handle
            else:
                weights = factors.weights if weights is None else weights
                labels = factors.labels if labels is None else labels
                mode_names = factors.mode_names if mode_names is None else mode_names
                factors = factors.factors
        self._handle = factors if isinstance(factors, _blco.Model) else _made(factors, weights, labels, mode_names)

    @property
    def rank(self) -> int:
        return self._handle.rank

    @property
    def weights(self) -> np.ndarray:
        """A read-only view, as `factors`."""
        return self._handle.weights

    @property
    def loss(self) -> str:
        return self._handle.loss

    @property
    def fit(self) -> float | None:
        """1 - |X - M| / |X| over all cells, of als; else None."""
        return self.fit_history[-1] if self.fit_history else None

    @property
    def objective(self) -> float | None:
        """What the method minimises; of als None."""
        return self.objective_history[-1] if self.objective_history else None

    @property
    def objective_history(self) -> list[float]:
        """After each sweep."""
        return self._handle.objective_history

    @property
    def explained(self) -> float | None:
        """The share of the deviance of the best constant model that this one explains, where the fit told it."""
        return self._handle.explained

    @property
    def found_ridge(self) -> float | None:
        """The ridge that a fit by `complete` found, 0 for none; None where it was given."""
        return self._handle.found_ridge

    def top(self, count: int = 3) -> Summary:
        """All components by falling norm, with their `count` largest entries in each mode. Their weights are these
        norms: what `weights` has, times the norms of the columns.
        """
        return Summary(
            Component(number, weight, share, dict(zip(self.mode_names, modes)))
            for number, weight, share, modes in _blco.summarize(self._handle, whole("count", count))
        )

    def plot(
        self, components: int = 8, entries: int = 10, *, modes: Sequence[int | str] | None = None, ax: Any = None
    ) -> Any:
        """A matplotlib figure: a row for each of the largest components, a column for each mode. A mode without labels
        is a line over its indices; labels that are weekdays, times, numbers or bins are bars, or a line, in their own
        order; of others bars show the `entries` largest entries. Plots of a mode share one scale. `modes` chooses among
        the modes, and `ax` has the axes to draw in, a row for each component.
        """
        names = range(len(self.shape)) if modes is None else [modes] if isinstance(modes, (int, str)) else modes
        numbers = [self._mode_number(mode) for mode in names]
        return draw(self, whole("components", components, 1), whole("entries", entries, 1), numbers, ax)

    def predict(self, cells: Any, *, unknown: Literal["error", "nan"] = "error", threads: int = 0) -> np.ndarray:
        """The model's values of cells: an array, or a list of one array per mode, of coordinates or labels; a table
        with a column of these for each mode; or the nonzeros of a tensor, in the order of its `coords`. With
        unknown="nan" a label that the model does not have gives NaN instead of an error.
        """
        columns, are_known = coordinates_in(self, cells, unknown)
        values = _blco.predict(self._handle, columns, whole("threads", threads))
        if are_known is not None:
            values[~are_known] = np.nan
        return values

    def reconstruct(self, *rows: Any) -> np.ndarray:
        """The dense block of cells where these rows of each mode cross, an axis per mode, such as
        `reconstruct([0, 5], 3, slice(None))`.
        """
        block = self.weights
        for factor in self._chosen(rows):
            block = block[..., np.newaxis, :] * factor
        return block.sum(axis=-1)

    def compare(self, other: Model) -> Match:
        """Pairs the components of two models. The score is the factor match score."""
        if not isinstance(other, Model):
            raise InvalidArgument(f"a {type(other).__name__} is no blco.Model to compare with")
        return Match(*_blco.compare(self._handle, other._handle))

    def report(
        self,
        path: Path,
        tensor: Tensor | None = None,
        *,
        title: str | None = None,
        components: int | None = None,
        entries: int | None = None,
        memory: Size | None = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        """Writes a page of HTML with plots of the components, by falling share, and ten of their largest `entries` in
        each mode. With the `tensor` that was fitted it has the lift of each: how much more common it is in the
        component than in the tensor; and outliers, by the leverage of each row in its mode's factor and the residual of
        its slice. Of a fit with several starts it shows how well each has the components.
        """
        words = {"title": title, "components": components, "entries": entries, "memory": size_in_bytes(memory),
                 "starts": self.starts and self.starts.runs, "tensor": None if tensor is None else handle_of(tensor),
                 "threads": threads}
        refuse_inputs(path, getattr(tensor, "path", None))
        with callback_of(progress) as shown:
            _blco.report(self._handle, path, words, shown)

    def to_pyttb(self) -> Any:
        """A pyttb.ktensor: weights and factors. A warning says where labels or names of modes are lost."""
        import pyttb

        warn_of_lost("a pyttb.ktensor", self.mode_names, self.labels)
        return pyttb.ktensor([np.asfortranarray(factor) for factor in self.factors], self.weights.copy())

    def to_tensorly(self) -> Any:
        """A tensorly CPTensor: weights and factors. A warning says where labels or names of modes are lost."""
        from tensorly.cp_tensor import CPTensor

        warn_of_lost("a tensorly CPTensor", self.mode_names, self.labels)
        return CPTensor((self.weights.copy(), [factor.copy() for factor in self.factors]))

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        history = self.fit_history or self.objective_history
        result = f", {'fit' if self.fit_history else 'objective'} {history[-1]:.6g}" if history else ""
        return f"<blco.Model {shape}, rank {self.rank}, {self.method}{result} after {len(history)} sweeps>"

    def _repr_html_(self) -> str:
        top = self.top(3)
        rows = [(str(one.number), f"{one.share:.1%}", *(", ".join(f"{name} {value:.3f}" for name, value in largest)
                                                        for largest in one.modes.values()))
                for one in top[:MOST_SHOWN]]
        rest = f"; the first {len(rows)} components" if len(rows) < len(top) else ""
        return html_table(repr(self)[1:-1] + rest, ("component", "share", *self.mode_names), rows)


class TuckerModel(FittedModel):
    """A Tucker model: cells are sum_abc core[a, b, c] * factors[0][i, a] * factors[1][j, b] * factors[2][k, c].

    Made by `blco.fit_tucker` and `blco.load`. Columns of the factors are orthonormal.
    """

    _handle: _blco.TuckerModel

    def __init__(self, handle: _blco.TuckerModel):
        self._handle = handle

    @property
    def ranks(self) -> tuple[int, ...]:
        """Columns of each mode's factor."""
        return self._handle.ranks

    @property
    def core(self) -> np.ndarray:
        """An array of shape `ranks`, a read-only view as `factors`."""
        return self._handle.core

    @property
    def fit(self) -> float:
        """1 - |X - M| / |X| over all cells."""
        return self.fit_history[-1]

    def top_of_core(self, count: int = 10) -> list[tuple[tuple[int, ...], float]]:
        """The largest numbers of the core, as (column of each mode, value), by falling magnitude."""
        return self._handle.top_of_core(whole("count", count))

    def report(
        self, path: Path, *, title: str | None = None, numbers: int | None = None, entries: int | None = None
    ) -> None:
        """Writes a page of HTML with the largest `numbers` of the core, 20 without, and of each column of each mode a
        plot and ten of its largest `entries`.
        """
        _blco.report_tucker(self._handle, path, {"title": title, "numbers": numbers, "entries": entries})

    def top(self, mode: int | str, column: int, count: int = 3) -> list[tuple[str | int, float]]:
        """The largest entries of a column of a mode, as (label or index, value), by falling magnitude."""
        return self._handle.top(self._mode_number(mode), whole("column", column), whole("count", count))

    def reconstruct(self, *rows: Any) -> np.ndarray:
        """The dense block of cells where these rows of each mode cross, as that of `Model`."""
        block = self.core
        for factor in self._chosen(rows):
            block = np.tensordot(block, factor, (0, 1))  # puts the mode last
        return block

    def compare(self, other: TuckerModel) -> list[list[float]]:
        """Per mode the principal angles between the spaces of the two models' columns, in radians and rising."""
        if not isinstance(other, TuckerModel):
            raise InvalidArgument(f"a {type(other).__name__} is no blco.TuckerModel to compare with")
        return _blco.principal_angles(self._handle, other._handle)

    def to_tensorly(self) -> Any:
        """A tensorly TuckerTensor: core and factors. A warning says where labels or names of modes are lost."""
        from tensorly.tucker_tensor import TuckerTensor

        warn_of_lost("a tensorly TuckerTensor", self.mode_names, self.labels)
        return TuckerTensor((self.core.copy(), [factor.copy() for factor in self.factors]))

    def __repr__(self) -> str:
        shape, ranks = ("x".join(map(str, lengths)) for lengths in (self.shape, self.ranks))
        return (f"<blco.TuckerModel {shape}, ranks {ranks}, {self.method}, fit {self.fit:.6g} after "
                f"{len(self.fit_history)} sweeps>")

    def _repr_html_(self) -> str:
        modes = [(name, f"{length:,}", str(rank)) for name, length, rank in zip(self.mode_names, self.shape, self.ranks)]
        return html_table(repr(self)[1:-1], ("mode", "length", "rank"), modes)


def _from_bytes(data: bytes) -> Model | TuckerModel:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.h5")
        with open(path, "wb") as file:
            file.write(data)
        return load(path)


def load(path: Path) -> Model | TuckerModel:
    """Loads a model that `save`, blco-cpd or blco-tucker wrote: a `Model` or a `TuckerModel`."""
    path = os.fspath(path)
    return TuckerModel(_blco.load_tucker(path)) if _blco.is_tucker(path) else Model(_blco.load(path))


def matrices_of(factors: Model | Sequence[Any]) -> list[np.ndarray]:
    """Row-major f64 matrices; those that are so already are not copied."""
    if isinstance(factors, Model):
        return factors.factors
    if isinstance(factors, (str, bytes, dict)) or not np.iterable(factors):
        raise InvalidArgument(f"factors: a {type(factors).__name__} is no list of matrices, rows x rank")
    matrices = []
    for n, factor in enumerate(factors):
        factor = np.asarray(factor)
        if factor.ndim != 2 or factor.dtype.kind not in "iufb":
            raise InvalidArgument(
                f"factor {n} has {factor.ndim} dimensions of type {factor.dtype}; give a matrix of real numbers, "
                "rows x rank"
            )
        matrices.append(np.ascontiguousarray(factor, dtype=np.float64))
    return matrices
