"""A CP model with the manners of scikit-learn, which is not needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import cells_of_dense
from ._errors import InvalidArgument
from ._fit import EstimatorOptions, Method, fit_cpd, with_options
from ._guest import Guest, NotFitted, validate_data
from ._model import Model
from ._tensor import Tensor, tensor

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Of the parameters: what is not an option of fit_cpd, and what is for the fit alone and not for new rows.
_OWN = {"rank", "mode"}
_OF_FIT = {"starts", "start", "validate", "checkpoint", "every", "callback"}


class CPD(Guest):
    """Fits a CP model, and gives the rows of new samples in it. `mode` holds the samples, such as users; the other
    modes are features and stay as they were fitted. The options are those of `blco.fit_cpd`.

        estimator = blco.CPD(rank=8, nonnegative=True).fit(tensor)
        rows = estimator.transform(new_users)

    `X` is a tensor of blco, a sparse array of any order, or a dense one: of two dimensions samples x features, as
    scikit-learn's estimators have it, also a table of numbers. Cells of 0 are absent. With method="complete" a dense
    array has all its cells but those that are NaN, since absent cells are unknown there.

    After `fit` there are `model_`, `components_`, `n_iter_` and `n_features_in_`, the number of cells of a sample.
    """

    mode: int | str
    method: Method | None
    rank: int
    model_: Model
    n_features_in_: int

    @with_options(EstimatorOptions)
    def __init__(
        self, rank: int = 16, *, mode: int | str = 0, method: Method | None = None, **options: Unpack[EstimatorOptions]
    ):
        for name, value in {"rank": rank, "mode": mode, "method": method, **options}.items():
            setattr(self, name, value)

    def fit(self, X: Any, y: None = None) -> CPD:
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        samples = self._tensor_of(X, is_fit=True)
        if samples is None:
            raise InvalidArgument("X has no cells other than 0; there is nothing to fit")
        self.model_ = fit_cpd(samples, self.rank, **options)
        self.n_iter_ = len(self.model_.fit_history or self.model_.objective_history)
        self.n_features_in_ = math.prod(self._lengths_of_features())
        return self

    def fit_transform(self, X: Any, y: None = None) -> np.ndarray:
        """The rows that `transform` gives of the samples that were fitted. They suit the final features best; rows of
        `model_` itself suit those of the sweep before, and so differ by what the fit's tolerance leaves.
        """
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """The rows of the samples of `X`, samples x rank, that suit the features best: cells are about
        sum_r rows[i, r] * components_[0][j, r] * components_[1][k, r] * ...
        """
        mode = self._mode()
        samples = self._tensor_of(X, is_fit=False)
        if samples is None:
            return self._rows_of_nothing(_count_of(X))
        return self._rows(samples, mode)[0]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The cells of samples with these rows, as a dense array: samples x features of a matrix, else with an axis per
        mode.
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self._model().rank:
            raise InvalidArgument(f"X has the shape {rows.shape}; give rows of {self._model().rank} components")
        cells = rows
        for factor in self.components_:
            cells = cells[..., np.newaxis, :] * factor
        return np.moveaxis(cells.sum(axis=-1), 0, self._mode())

    def score(self, X: Any, y: None = None) -> float:
        """How well the features explain the samples of `X`: the fit 1 - |X - M| / |X|, or of methods without one the
        share of the best constant model's deviance; at most 1. Of method="complete" the negative root of the mean
        squared error of the entries.
        """
        mode = self._mode()
        samples = self._tensor_of(X, is_fit=False)
        if samples is None:
            raise InvalidArgument("X has no cells other than 0; there is nothing to explain")
        rows, model = self._rows(samples, mode)
        if model.fit is not None:
            return model.fit
        if model.explained is not None:
            return model.explained
        factors = self._model().factors
        factors[mode] = rows
        errors = Model(factors).predict(samples.coords) - samples.values
        return -float(np.sqrt(np.mean(errors**2)))

    @property
    def components_(self) -> list[np.ndarray]:
        """The features' factors, each rows x rank, in the order of their modes."""
        return [factor for n, factor in enumerate(self._model().factors) if n != self._mode()]

    @property
    def _n_features_out(self) -> int:
        return self._model().rank

    def _rows(self, samples: Tensor, mode: int) -> tuple[np.ndarray, Model]:
        """The samples' rows, and the model that the fit of these rows ends with."""
        model = self._model()
        factors = model.factors
        factors[mode] = np.ones((samples.shape[mode], model.rank))
        options = {name: self._for_samples(name, option) for name, option in self.get_params(deep=False).items()
                   if name not in _OWN | _OF_FIT}
        held = [n for n in range(len(factors)) if n != mode]
        scale = np.ones(model.rank)
        if held and (options.get("box") or options.get("simplex")):  # of rows beside features of their own size
            scale = model.weights
            factors[held[0]] = factors[held[0]] * scale
        fitted = fit_cpd(samples, initial=factors, hold=held, **options)
        return fitted.factors[mode] * fitted.weights * scale, fitted

    def _rows_of_nothing(self, count: int) -> np.ndarray:
        """Those of samples without entries: they say nothing of samples whose absent cells are unknown, and else that
        all cells are 0.
        """
        model = self._model()
        if model.method == "complete":
            return np.tile((model.factors[self._mode()] * model.weights).mean(axis=0), (count, 1))
        # Beside a sample that has a cell, since no tensor is empty.
        shape = list(model.shape)
        shape[self._mode()] = count + 1
        cell = [0] * len(shape)
        cell[self._mode()] = count
        return self._rows(tensor([cell], 1, shape), self._mode())[0][:-1]

    def _for_samples(self, name: str, option: Any) -> Any:
        """An option without what constrains the features, which are held."""
        bounds = ()
        if name == "box" and option is not None:
            bounds, option = option[:2], option[2] if len(option) == 3 else True
        if name in ("box", "nonnegative", "simplex") and option is not None and not isinstance(option, bool):
            modes = [option] if isinstance(option, (str, int, np.integer)) else option
            option = [mode] if (mode := self._mode()) in map(self.model_._mode_number, modes) else None
        return (*bounds, option) if bounds and option is not None else option

    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFitted(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self.model_

    def _mode(self) -> int:
        return self._model()._mode_number(self.mode)

    def _lengths_of_features(self) -> list[int]:
        return [length for n, length in enumerate(self.model_.shape) if n != self._mode()]

    def _tensor_of(self, X: Any, is_fit: bool) -> Tensor | None:
        """X as a tensor; None of samples that have no entries. New ones have the features of the fit."""
        if isinstance(X, Tensor):
            samples = X
        elif getattr(X, "ndim", 2) <= 2 and not hasattr(X, "subs"):
            samples = self._tensor_of_matrix(X, is_fit)
        elif isinstance(X, np.ndarray):
            samples = _of_dense(X, self.method)
        else:
            samples = tensor(X)
        if samples is not None and not is_fit:
            self._check(samples, self._mode())
        return samples

    def _tensor_of_matrix(self, X: Any, is_fit: bool) -> Tensor | None:
        """Of samples x features; `mode` may say that the samples are the columns."""
        finite = "allow-nan" if self.method == "complete" else True
        if is_fit or self._mode() == 0:
            matrix = validate_data(self, X, reset=is_fit, accept_sparse=True, dtype=np.float64, ensure_all_finite=finite)
        else:
            matrix = X if hasattr(X, "tocoo") else np.asarray(X, dtype=np.float64)
        if not hasattr(matrix, "tocoo"):
            return _of_dense(matrix, self.method)
        return tensor(matrix) if matrix.nnz > 0 else None

    def _check(self, new: Tensor, mode: int) -> None:
        """The features of new samples are those of the fit, by number and by label."""
        model = self.model_
        wanted = [*model.shape[:mode], *new.shape[mode:mode + 1], *model.shape[mode + 1:]]
        if list(new.shape) != wanted:
            raise InvalidArgument(f"the tensor has the shape {new.shape}, but the model {model.shape}; only the "
                                  f"samples, mode {mode}, may be others: give the tensor its `shape`")
        for n, (names, known) in enumerate(zip(new.labels, model.labels)):
            if n != mode and names is not None and known is not None and names != known:
                raise InvalidArgument(f"the labels of mode {n} are others in the tensor than in the model; make it "
                                      "with those of the model, as `labels_from` does")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.method == "complete"
        return tags


def _count_of(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _of_dense(array: np.ndarray, method: str | None) -> Tensor | None:
    if method == "complete":
        known = ~np.isnan(array)
        cells, values, shape = list(np.nonzero(known)), array[known], array.shape
    else:
        cells, values, shape = cells_of_dense(array)
    return tensor(cells, values, shape) if len(values) > 0 else None
