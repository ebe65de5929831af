"""Models: their numbers as NumPy arrays, files, summaries and values of cells."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from . import _arrow, _blco
from ._errors import InvalidArgument
from ._progress import Progress, callback_of
from ._tensor import Path, Size, Tensor, columns_of, handle_of, refuse_inputs, size_in_bytes


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


class FittedModel:
    """What CP and Tucker models have alike."""

    _handle: _blco.Model | _blco.TuckerModel
    _column = "column"

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
        if mode in self.mode_names:
            return self.mode_names.index(mode)
        if isinstance(mode, str) or not 0 <= mode < len(self.shape):
            raise InvalidArgument(f"mode {mode!r} does not exist; the modes are {', '.join(self.mode_names)}")
        return mode

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
        _blco.save_model(self._handle, path)

    def __reduce__(self) -> tuple:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.h5")
            self.save(path)
            with open(path, "rb") as file:
                return _from_bytes, (file.read(),)


class Model(FittedModel):
    """A CP model: cells are sum_r weights[r] * factors[0][i, r] * factors[1][j, r] * ...

    Made by `blco.fit_cpd` and `blco.load`, or of given factors, each rows x rank.
    """

    _handle: _blco.Model
    _column = "component"

    def __init__(self, factors: Sequence[Any] | _blco.Model, weights: Any = None):
        if not isinstance(factors, _blco.Model):
            factors = matrices_of(factors)
            if weights is None:
                weights = np.ones(factors[0].shape[1] if factors else 0)
            weights = np.asarray(weights, dtype=np.float64)
            if not all(np.isfinite(numbers).all() for numbers in (*factors, weights)):
                raise InvalidArgument("the factors and weights of a model must be finite")
            factors = _blco.make_model(factors, weights.tolist())
        self._handle = factors
        #: How alike the starts of the fit are, if it had several: count, best, reaching, lowest_match, mean_match, and
        #: runs, each with its seed and its matches.
        self.starts: SimpleNamespace | None = None

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

    def top(self, count: int = 3) -> Summary:
        """All components by falling weight, with their `count` largest entries in each mode."""
        return Summary(
            Component(number, weight, share, dict(zip(self.mode_names, modes)))
            for number, weight, share, modes in _blco.summarize(self._handle, count)
        )

    def plot(self, components: int = 8, entries: int = 10) -> Any:
        """A matplotlib figure: a row for each of the first components, a column per mode. A mode without labels is a
        line over its indices; else bars show its `entries` largest entries. Plots of a mode share one scale.
        """
        import matplotlib.pyplot as plt

        rows = min(components, self.rank)
        size = (4 * len(self.shape), 2 * rows)
        figure, all_axes = plt.subplots(rows, len(self.shape), figsize=size, squeeze=False, layout="constrained")
        top = self.top(entries)
        for n, mode in enumerate(self.mode_names):
            factor = self.factors[n][:, :rows]
            reach = 1.05 * np.array([min(factor.min(), 0), max(factor.max(), 0)])
            for component, axes in zip(top[:rows], all_axes[:, n]):
                if self.labels[n] is None:
                    axes.plot(factor[:, component.number], linewidth=1)
                    axes.set_ylim(*reach)
                else:
                    names, values = zip(*component.modes[mode][::-1])
                    axes.barh(range(len(values)), values, tick_label=[str(name)[:24] for name in names])
                    axes.set_xlim(*reach)
            all_axes[0, n].set_title(mode)
        for component, axes in zip(top[:rows], all_axes[:, 0]):
            axes.set_ylabel(f"{component.number}: {component.share:.1%}")
        return figure

    def predict(self, coords: Any, threads: int = 0) -> np.ndarray:
        """The model's values of cells: coordinates as `blco.tensor` takes them."""
        return _blco.predict(self._handle, columns_of(coords), threads)

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
        """A pyttb.ktensor."""
        import pyttb

        return pyttb.ktensor([np.asfortranarray(factor) for factor in self.factors], self.weights.copy())

    def to_tensorly(self) -> Any:
        """A tensorly CPTensor."""
        from tensorly.cp_tensor import CPTensor

        return CPTensor((self.weights.copy(), [factor.copy() for factor in self.factors]))

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        history = self.fit_history or self.objective_history
        result = f", {'fit' if self.fit_history else 'objective'} {history[-1]:.6g}" if history else ""
        return f"<blco.Model {shape}, rank {self.rank}, {self.method}{result} after {len(history)} sweeps>"


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
        return self._handle.top_of_core(count)

    def report(
        self, path: Path, *, title: str | None = None, numbers: int | None = None, entries: int | None = None
    ) -> None:
        """Writes a page of HTML with the largest `numbers` of the core, 20 without, and of each column of each mode a
        plot and ten of its largest `entries`.
        """
        _blco.report_tucker(self._handle, path, {"title": title, "numbers": numbers, "entries": entries})

    def top(self, mode: int | str, column: int, count: int = 3) -> list[tuple[str | int, float]]:
        """The largest entries of a column of a mode, as (label or index, value), by falling magnitude."""
        return self._handle.top(self._mode_number(mode), column, count)

    def reconstruct(self, *rows: Any) -> np.ndarray:
        """The dense block of cells where these rows of each mode cross, as that of `Model`."""
        block = self.core
        for factor in self._chosen(rows):
            block = np.tensordot(block, factor, (0, 1))  # puts the mode last
        return block

    def compare(self, other: TuckerModel) -> list[list[float]]:
        """Per mode the principal angles between the spaces of the two models' columns, in radians and rising."""
        return _blco.principal_angles(self._handle, other._handle)

    def to_tensorly(self) -> Any:
        """A tensorly TuckerTensor."""
        from tensorly.tucker_tensor import TuckerTensor

        return TuckerTensor((self.core.copy(), [factor.copy() for factor in self.factors]))

    def __repr__(self) -> str:
        shape, ranks = ("x".join(map(str, lengths)) for lengths in (self.shape, self.ranks))
        return (f"<blco.TuckerModel {shape}, ranks {ranks}, {self.method}, fit {self.fit:.6g} after "
                f"{len(self.fit_history)} sweeps>")


def _from_bytes(data: bytes) -> Model | TuckerModel:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.h5")
        with open(path, "wb") as file:
            file.write(data)
        return load(path)


def load(path: Path) -> Model | TuckerModel:
    """Loads a model that `save`, blco-cpd or blco-tucker wrote: a `Model` or a `TuckerModel`."""
    return TuckerModel(_blco.load_tucker(path)) if _blco.is_tucker(path) else Model(_blco.load(path))


def matrices_of(factors: Model | Sequence[Any]) -> list[np.ndarray]:
    """Row-major f64 matrices; those that are so already are not copied."""
    if isinstance(factors, Model):
        return factors.factors
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
