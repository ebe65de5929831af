"""What scikit-learn asks of an estimator: its own classes where it is installed, else the few that CPD needs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ._errors import InvalidArgument

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import validate_data

    class Guest(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
        """Parameters, tags, names of features, and containers of results."""

except ImportError:  # or one before 1.6

    class NotFittedError(ValueError):  # type: ignore[no-redef]
        """As that of scikit-learn."""

    def validate_data(estimator: Any, X: Any, *, reset: bool, **checks: Any) -> Any:
        """A matrix of samples and features, dense or sparse."""
        matrix = X if hasattr(X, "tocoo") else np.asarray(X, dtype=np.float64)
        if matrix.ndim != 2:
            raise InvalidArgument(f"X has {matrix.ndim} dimensions; give samples x features, or a blco.Tensor")
        if reset:
            estimator.n_features_in_ = matrix.shape[1]
        if matrix.shape[1] != estimator.n_features_in_:
            raise InvalidArgument(f"X has {matrix.shape[1]} features, but {type(estimator).__name__} is expecting "
                                  f"{estimator.n_features_in_} features as input")
        return matrix

    class Guest:  # type: ignore[no-redef]
        """Parameters by the names in the signature."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> Any:
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise InvalidArgument(f"{name!r} is no parameter of {type(self).__name__}; there are "
                                          f"{', '.join(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            usual = inspect.signature(type(self).__init__).parameters
            words = (f"{name}={value!r}" for name, value in self.get_params().items() if value != usual[name].default)
            return f"{type(self).__name__}({', '.join(words)})"


class NotFitted(InvalidArgument, NotFittedError):
    """An estimator that has no model yet."""
