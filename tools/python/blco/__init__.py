"""CP and Tucker decompositions of sparse tensors that may be larger than memory.

    tensor = blco.tensor(coords, values)        # or blco.ingest("events.csv", "events.blco", modes=["user", "item"])
    model = blco.fit_cpd(tensor, rank=16)
    print(model.fit, model.top(5))
"""

import atexit as _atexit
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _blco
from ._blco import Progress, Sweep
from ._blco import end_jobs as _end_jobs
from ._blco import version as __version__
from ._errors import (
    Cancelled,
    CorruptError,
    DeviceError,
    Error,
    InvalidArgument,
    IoError,
    NotBuilt,
    OutOfMemory,
    tell_types as _tell_types,
)
from ._filters import register as _register_filters
from ._fit import RankedModel, Ranks, evaluate, fit_cpd, fit_ranks, fit_tucker, mttkrp, plan, plan_tucker
from ._model import Component, Match, Model, Summary, TuckerModel, load
from ._tensor import Tensor, ingest, open, tensor

if _TYPE_CHECKING:
    from ._estimator import CPD

_tell_types(_blco)
_register_filters()
_atexit.register(_end_jobs)

__all__ = [
    "CPD", "Cancelled", "Component", "CorruptError", "DeviceError", "Error", "InvalidArgument", "IoError", "Match",
    "Model", "NotBuilt", "OutOfMemory", "Progress", "RankedModel", "Ranks", "Summary", "Sweep", "Tensor",
    "TuckerModel", "evaluate", "fit_cpd", "fit_ranks", "fit_tucker", "ingest", "load", "mttkrp", "plan",
    "plan_tucker", "tensor",
]  # without `open`, which would take the place of Python's own


def __getattr__(name: str) -> object:
    if name != "CPD":
        raise AttributeError(f"module 'blco' has no attribute {name!r}")
    from ._estimator import CPD  # looks for scikit-learn, which takes a second to import

    globals()["CPD"] = CPD
    return CPD
