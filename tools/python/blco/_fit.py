"""Fits of CP and Tucker models, what they would take, and the passes they are made of."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import numpy as np

from . import _blco
from ._errors import InvalidArgument, with_keywords
from ._model import FittedModel, Model, TuckerModel, matrices_of, number_of_mode
from ._peers import peers_of
from ._progress import Progress, callback_of
from ._tensor import Tensor, handle_of
from ._words import Path, Size, refuse_inputs, size_in_bytes, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Call = TypeVar("_Call", bound=Callable[..., Any])
_Kind = TypeVar("_Kind", Model, TuckerModel)
Modes = bool | str | int | Sequence[str | int]
Method = Literal["als", "apr", "gcp", "gcp-adam", "complete"]
TuckerMethod = Literal["auto", "hooi", "hoqri"]
Precision = Literal["f64", "f32", "mixed"]
# Those with a number may also be texts such as "huber:0.25", which no checker of types knows.
Loss = (Literal["gaussian", "poisson", "poisson-log", "bernoulli-odds", "bernoulli-logit", "gamma", "rayleigh"]
        | tuple[Literal["huber", "beta"], float])


def _plain(word: Any) -> Any:
    """Numbers of Python for those of NumPy, also within `box` and other lists."""
    if isinstance(word, (tuple, list)):
        return list(map(_plain, word))
    return word.item() if isinstance(word, np.generic) else word


def _loss(loss: Any) -> Any:
    """A loss with its number as one word."""
    return f"{loss[0]}:{loss[1]}" if isinstance(loss, (tuple, list)) and len(loss) == 2 else loss


def _in_order(initial: Mapping[str, Any], tensor: Tensor) -> list[Any]:
    """The factors of a mapping by the names of modes."""
    if set(initial) != set(tensor.mode_names):
        raise InvalidArgument(f"initial: the factors are of {', '.join(map(str, initial))}, but the tensor has the modes "
                              f"{', '.join(tensor.mode_names)}; give a factor for each")
    return [initial[name] for name in tensor.mode_names]


def _words(words: dict[str, Any], tensor: Tensor, kind: type[FittedModel] = Model) -> dict[str, Any]:
    """Keyword arguments as the extension reads them; `initial` is a model of this kind."""
    words = {name: _plain(word) for name, word in words.items()}
    for name in ("memory", "device_memory"):
        words[name] = size_in_bytes(words[name])
    if words.get("loss") is not None:
        words["loss"] = _loss(words["loss"])
    initial = words.get("initial")
    if initial is not None:
        if kind is Model and not isinstance(initial, FittedModel):
            try:
                initial = Model(_in_order(initial, tensor) if isinstance(initial, Mapping) else initial)
            except InvalidArgument as error:
                raise InvalidArgument(f"initial: {error}") from None
        if not isinstance(initial, kind):
            raise TypeError(f"initial: {type(initial).__name__} is not a blco.{kind.__name__}")
        words["initial"] = initial._handle
    if isinstance(words.get("ranks"), int):
        words["ranks"] = [words["ranks"]]
    if words.get("validate") is not None:
        words["validate"] = handle_of(words["validate"])
    return words


def _with_starts(kind: type[_Kind], model: Any, agreement: dict[str, Any] | None) -> _Kind:
    """A model of the extension, and how alike its starts are."""
    found = kind(model)
    found.starts = agreement and SimpleNamespace(**agreement)
    return found


class _JobOptions(TypedDict, total=False):
    """The keywords of all functions below. Most are rows of the library's table of options."""

    max_sweeps: int | None
    tolerance: float | None
    nonnegative: Modes | None
    simplex: Modes | None
    box: tuple | None
    l1: float | None
    ridge: float | None
    momentum: bool | None
    inner: int | None
    kappa: float | None
    loss: Loss | None
    evaluations: int | None
    learning_rate: float | None
    samples: int | None
    cg_steps: int | None
    validate: Tensor | None
    starts: int
    seed: int | None
    start: Literal["auto", "uniform", "centered", "normal", "nvecs"] | None
    checkpoint: Path | None
    every: int | None
    time_limit: float | None
    memory: Size | None
    device_memory: Size | None
    threads: int | None
    devices: str | Sequence[str] | None
    precision: Precision | None
    deterministic: bool | None
    trace: Path | None


class EstimatorOptions(_JobOptions, total=False):
    """The keywords of `CPD`. The docstring of `fit_cpd` explains them."""

    progress: Progress
    callback: Callable[[_blco.Sweep], bool | None] | None


class PlanOptions(_JobOptions, total=False):
    """The keywords of `plan`."""

    hold: Modes | None
    initial: Model | Sequence[Any] | Mapping[str, Any] | None
    resume: Path | None


class RanksOptions(EstimatorOptions, PlanOptions, total=False):
    """The keywords of `fit_ranks`."""


class FitOptions(RanksOptions, total=False):
    """The keywords of `fit_cpd`."""

    comm: Any


_USUAL = dict.fromkeys(FitOptions.__annotations__) | {"starts": 1, "progress": False}


def with_options(kind: Any) -> Callable[[_Call], _Call]:
    """Of a function that takes the keywords of this TypedDict: its signature names them all, and the function gets
    them all.
    """

    def decorate(call: Any) -> Any:
        own = inspect.signature(call)
        named = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_USUAL[name],
                              annotation=getattr(type_, "__forward_arg__", type_))
            for name, type_ in kind.__annotations__.items()
        ]
        signature = own.replace(parameters=[*named, *options])

        @functools.wraps(call)
        def complete(*arguments: Any, **words: Any) -> Any:
            try:
                given = signature.bind(*arguments, **words)
            except TypeError as error:
                raise TypeError(f"{call.__qualname__}() {error}") from None
            given.apply_defaults()
            return call(*given.args, **given.kwargs)

        types = {one.name: one.annotation for one in signature.parameters.values()} | {"return": own.return_annotation}
        complete.__annotations__ = {name: type_ for name, type_ in types.items() if type_ is not own.empty}
        complete.__signature__ = signature  # type: ignore[attr-defined]
        del complete.__wrapped__  # whose annotations `typing` cannot read
        return complete

    return decorate


@with_options(FitOptions)
def fit_cpd(
    tensor: Tensor, rank: int | None = None, method: Method | None = None, **options: Unpack[FitOptions]
) -> Model:
    """Fits a CP model of `rank` components. The options are those of blco-cpd, below, where X is the option's value;
    None is the default.

    `nonnegative`, `simplex` and `hold` take True for all modes, or modes by name or number; `box` takes (low, high) or
    (low, high, modes). `loss` may be ("huber", D) or ("beta", B). `initial` is a model, one of pyttb or tensorly,
    factors, or a mapping of the names of modes to factors. `time_limit` is in seconds. Several `devices` are a list:
    ["cuda:0", "cuda:1"], or with shares ["cpu=1", "cuda:0=20"]. Of several `starts`, from the seeds that follow each
    other, the best model is returned, and its attribute `starts` says how alike they are.

    `callback` gets each sweep, and ends the fit with its model by returning False. `progress` may be a function, called
    up to ten times a second; False from it ends the fit with the last sweep's model. True shows a line instead. What
    either raises, and Ctrl-C, end the fit too: the exception then has that model, or None, as its attribute `model`.

    `comm` is a communicator of mpi4py, or an object with `rank`, `size`, `neighbours` (processes on this machine),
    `send(to, bytes)` and `receive(source)` between any two: all its processes call fit_cpd with the same tensor and
    options, and share the passes. Process 0 gets the model, the others None. Processes of one machine take its GPUs in
    turn; an object may say by `gpu_sharers` how many see the GPUs that this one sees, and by `gpu_rank` which of them
    it is.
    """
    words: dict[str, Any] = {"rank": rank, "method": method, **options}
    starts, progress, callback, comm = (words.pop(name) for name in ("starts", "progress", "callback", "comm"))
    for written in (words["checkpoint"], words["trace"]):
        refuse_inputs(written, getattr(tensor, "path", None), getattr(words["validate"], "path", None))
    with callback_of(progress) as shown:
        model, agreement, raised = _blco.fit(
            handle_of(tensor), _words(words, tensor), whole("starts", starts, 1), shown, callback, peers_of(comm))
    if model is not None:
        model = _with_starts(Model, model, agreement)
    if raised is not None:
        raised.model = model
        try:
            raise raised
        finally:
            del raised, model  # which this frame, and so the exception, would keep
    return model


def _explained(option: Mapping[str, Any]) -> str:
    """A paragraph of a docstring, of a row of the library's table."""
    methods = f" ({', '.join(option['methods'])})" if option["methods"] else ""
    usual = f" Default: {option['default']}." if option["default"] else ""
    text = with_keywords(f"`{option['name']}`{methods}: {option['help']}.{usual}")
    return fill(text, 120, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)


if fit_cpd.__doc__ is not None:  # as python -OO leaves it
    fit_cpd.__doc__ += "\n" + "\n".join(map(_explained, _blco.options())) + "\n    "


@with_options(PlanOptions)
def plan(
    tensor: Tensor, rank: int | None = None, method: Method | None = None, **options: Unpack[PlanOptions]
) -> SimpleNamespace:
    """What `fit_cpd` with these options would take: where the chunks stay, and the memory."""
    words: dict[str, Any] = {"rank": rank, "method": method, **options}
    starts = whole("starts", words.pop("starts"), 1)
    return SimpleNamespace(**_blco.plan(handle_of(tensor), _words(words, tensor), starts))


def fit_tucker(
    tensor: Tensor,
    ranks: int | Sequence[int] | None = None,
    method: TuckerMethod | None = None,
    *,
    error: float | None = None,
    max_sweeps: int | None = None,
    tolerance: float | None = None,
    starts: int = 1,
    seed: int | None = None,
    start: Literal["random", "nvecs"] | None = None,
    initial: TuckerModel | None = None,
    hold: Modes | None = None,
    resume: Path | None = None,
    checkpoint: Path | None = None,
    every: int | None = None,
    time_limit: float | None = None,
    memory: Size | None = None,
    device_memory: Size | None = None,
    threads: int | None = None,
    devices: str | Sequence[str] | None = None,
    precision: Precision | None = None,
    deterministic: bool | None = None,
    trace: Path | None = None,
    progress: Progress = False,
    callback: Callable[[_blco.Sweep], bool | None] | None = None,
) -> TuckerModel:
    """Fits a Tucker model of so many columns per mode; one number is for all modes, where that is possible.

    `method` is hooi, hoqri (less memory, more sweeps) or auto; `start` is random or nvecs. With `error` the ranks are
    found, from those that are given up or down, for which |X - M| / |X| is at most this; where `memory` does not hold
    the next ranks, a warning names what does. `starts` are as with `fit_cpd`; their matches are of the spaces of each
    mode. Other options are those of blco-tucker; None is the default. `initial` is a model, which gives the ranks too,
    and so does the file of `resume`; the tensor may have grown since. Modes of `hold`, by name or number or True for
    all, keep that model's matrices. `progress`, `callback` and Ctrl-C are as with `fit_cpd`.
    """
    words = dict(locals())
    for name in ("tensor", "starts", "progress", "callback"):
        del words[name]
    for written in (checkpoint, trace):
        refuse_inputs(written, getattr(tensor, "path", None))
    with callback_of(progress) as shown:
        model, agreement, raised = _blco.fit_tucker(
            handle_of(tensor), _words(words, tensor, TuckerModel), whole("starts", starts, 1), shown, callback)
    if model is not None:
        model = _with_starts(TuckerModel, model, agreement)
    if raised is not None:
        raised.model = model
        try:
            raise raised
        finally:
            del raised, model  # which this frame, and so the exception, would keep
    return model


def plan_tucker(
    tensor: Tensor, ranks: int | Sequence[int] | None = None, method: TuckerMethod | None = None, *, starts: int = 1,
    **options: Any
) -> SimpleNamespace:
    """What `fit_tucker` with these options would take: the method, the passes, where the chunks stay, the memory."""
    words = {"ranks": ranks, "method": method, "initial": None, "memory": None, "device_memory": None} | options
    return SimpleNamespace(**_blco.plan_tucker(
        handle_of(tensor), _words(words, tensor, TuckerModel), whole("starts", starts, 1)))


@dataclass(frozen=True)
class RankedModel:
    """The best model of a rank, its core consistency, and the mean match of its starts, where these say something."""

    rank: int
    model: Model
    core_consistency: float | None
    match: float | None


@dataclass(frozen=True)
class Ranks:
    """The models of several ranks, and the rank that fit, core consistency and matching starts speak for."""

    rows: list[RankedModel]
    choice: int | None

    def __repr__(self) -> str:
        lines = [f"{'rank':>6}  {'fit':>10}  {'core consistency':>16}  {'match':>6}"]
        for row in self.rows:
            fit = row.model.explained if row.model.fit is None else row.model.fit
            numbers = [(fit, 10, ".6f"), (row.core_consistency, 16, ".1f"), (row.match, 6, ".4f")]
            lines.append(f"{row.rank:>6}  " + "  ".join(
                f"{'-' if number is None else format(number, digits):>{width}}" for number, width, digits in numbers))
        return "\n".join(lines) + f"\nchoice: {self.choice}"


@with_options(RanksOptions)
def fit_ranks(
    tensor: Tensor, ranks: Iterable[int], method: Method | None = None, **options: Unpack[RanksOptions]
) -> Ranks:
    """Fits each of these ranks as `fit_cpd` with these options does, and helps to choose among them. `time_limit` is of
    all together. A stop, an exception or the time limit ends all ranks: those that have a model are returned, or the
    last of them is the exception's `.model`.
    """
    numbers = [whole("ranks", rank, 1) for rank in ranks] if np.iterable(ranks) and not isinstance(ranks, str) else []
    if not numbers:
        raise InvalidArgument(f"ranks: give a list of ranks, such as range(1, 6), not {ranks!r}")
    words: dict[str, Any] = {"rank": max(numbers), "method": method, **options}
    starts, progress, callback = (words.pop(name) for name in ("starts", "progress", "callback"))
    with callback_of(progress) as shown:
        found, choice, raised = _blco.fit_ranks(handle_of(tensor), _words(words, tensor), numbers,
                                                whole("starts", starts, 1), shown, callback)
    rows = [
        RankedModel(model.rank, _with_starts(Model, model, agreement), core, agreement and agreement["mean_match"])
        for model, agreement, core in found
    ]
    if raised is not None:
        raised.model = rows[-1].model if rows else None
        try:
            raise raised
        finally:
            del raised, rows, found  # as in fit_cpd
    return Ranks(rows, choice)


def _compute(memory: Size | None, threads: int, devices: str | Sequence[str] | None, precision: Precision,
             deterministic: bool) -> dict[str, Any]:
    return {"memory": size_in_bytes(memory), "threads": threads, "devices": devices, "precision": precision,
            "deterministic": deterministic}


def mttkrp(
    tensor: Tensor,
    factors: Model | Sequence[Any],
    mode: int | str,
    *,
    memory: Size | None = None,
    threads: int = 0,
    devices: str | Sequence[str] | None = None,
    precision: Precision = "f64",
    deterministic: bool = False,
    progress: Progress = False,
) -> np.ndarray:
    """The matricized tensor times the Khatri-Rao product of the other modes' factors, rows of `mode` x rank. Factors
    are rows x rank; row-major f64 is read where it lies. A model's weights are not taken in. `progress` and Ctrl-C end
    it as they end `fit_cpd`, without a result.
    """
    words = _compute(memory, threads, devices, precision, deterministic)
    number = number_of_mode(mode, tensor.mode_names)
    with callback_of(progress) as shown:
        return _blco.mttkrp(handle_of(tensor), matrices_of(factors), number, words, shown)


def evaluate(
    tensor: Tensor,
    factors: Model | Sequence[Any],
    loss: Loss = "gaussian",
    absent: Literal["zeros", "unknown"] = "zeros",
    *,
    memory: Size | None = None,
    threads: int = 0,
    devices: str | Sequence[str] | None = None,
    precision: Precision = "f64",
    deterministic: bool = False,
    progress: Progress = False,
) -> tuple[float, list[np.ndarray]]:
    """The sum of the losses of all cells, or with absent="unknown" of the entries alone, and its derivative by each
    number of each factor. A model's weights are not taken in. `progress` and Ctrl-C are as with `mttkrp`.
    """
    words = {"absent": absent} | _compute(memory, threads, devices, precision, deterministic)
    with callback_of(progress) as shown:
        return _blco.evaluate(handle_of(tensor), matrices_of(factors), _loss(loss), words, shown)
