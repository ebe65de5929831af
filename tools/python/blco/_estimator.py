"""A CP model with the manners of scikit-learn, which is not needed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ._errors import InvalidArgument
from ._fit import fit_cpd
from ._model import Model
from ._tensor import Tensor, tensor

# Of fit_cpd: what is not the estimator's, and what is for the fit alone and not for new rows.
_GIVEN = {"tensor", "rank", "initial", "hold", "resume", "comm"}
_OF_FIT = {"starts", "start", "validate", "checkpoint", "every", "callback"}
_OPTIONS = set(inspect.signature(fit_cpd).parameters) - _GIVEN


class CPD:
    """Fits a CP model, and gives the rows of new samples in it. `mode` holds the samples, such as users; the other
    modes are features and stay as they were fitted. The options are those of `blco.fit_cpd`.

        estimator = blco.CPD(rank=8, nonnegative=True).fit(tensor)
        rows = estimator.transform(new_users)

    Tensors are those of blco, or what `blco.tensor` takes alone, such as an array of scipy or sparse.
    """

    model_: Model

    def __init__(self, rank: int = 16, *, mode: int | str = 0, **options: Any):
        self.rank, self.mode = rank, mode
        self._options: dict[str, Any] = {}
        self.set_params(**options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"rank": self.rank, "mode": self.mode, **self._options}

    def set_params(self, **params: Any) -> CPD:
        for name, value in params.items():
            if name in ("rank", "mode"):
                setattr(self, name, value)
            elif name in _OPTIONS:
                self._options[name] = value
            else:
                known = ", ".join(["rank", "mode", *sorted(_OPTIONS)])
                raise InvalidArgument(f"{name!r} is no parameter of CPD; there are {known}")
        return self

    def fit(self, X: Any, y: None = None) -> CPD:
        self.model_ = fit_cpd(_as_tensor(X), self.rank, **self._options)
        return self

    def fit_transform(self, X: Any, y: None = None) -> np.ndarray:
        """The samples' rows as they were fitted."""
        return self.fit(X).model_.factors[self._mode()] * self.model_.weights

    def transform(self, X: Any) -> np.ndarray:
        """The rows of the samples of `X`, samples x rank, that suit the features best: cells are about
        sum_r rows[i, r] * components_[0][j, r] * components_[1][k, r] * ...
        """
        mode, new = self._mode(), _as_tensor(X)
        self._check(new, mode)
        factors = self.model_.factors
        factors[mode] = np.ones((new.shape[mode], self.model_.rank))
        options = {name: self._for_samples(name, option) for name, option in self._options.items()
                   if name not in _OF_FIT}
        held = [n for n in range(len(factors)) if n != mode]
        scale = np.ones(self.model_.rank)
        if held and (options.get("box") or options.get("simplex")):  # of rows beside features of their own size
            scale = self.model_.weights
            factors[held[0]] = factors[held[0]] * scale
        model = fit_cpd(new, initial=factors, hold=held, **options)
        return model.factors[mode] * model.weights * scale

    @property
    def components_(self) -> list[np.ndarray]:
        """The features' factors, each rows x rank, in the order of their modes."""
        return [factor for n, factor in enumerate(self.model_.factors) if n != self._mode()]

    def _for_samples(self, name: str, option: Any) -> Any:
        """An option without what constrains the features, which are held."""
        bounds = ()
        if name == "box" and option is not None:
            bounds, option = option[:2], option[2] if len(option) == 3 else True
        if name in ("box", "nonnegative", "simplex") and option is not None and not isinstance(option, bool):
            modes = [option] if isinstance(option, (str, int, np.integer)) else option
            option = [mode] if (mode := self._mode()) in map(self.model_._mode_number, modes) else None
        return (*bounds, option) if bounds and option is not None else option

    def _mode(self) -> int:
        if not hasattr(self, "model_"):
            raise InvalidArgument("this CPD is not fitted yet; call fit first")
        return self.model_._mode_number(self.mode)

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
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), transformer_tags=TransformerTags())

    def __repr__(self) -> str:
        return f"CPD({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"


def _as_tensor(X: Any) -> Tensor:
    return X if isinstance(X, Tensor) else tensor(X)
