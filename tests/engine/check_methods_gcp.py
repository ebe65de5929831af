"""Generalised CP: objectives and gradients of gaussian and poisson over all cells, and Adam. See check_methods.py.

No program prints a gradient, but where a long fit ends it is zero.
"""
import re

import numpy as np

from method_oracles import dense_model, dense_mttkrp, gram_product

RANK = 3
SHAPE = (12, 9, 14)
EPSILON = 1e-10


def objective(array, model, loss):
    if loss == "gaussian":
        return np.sum((array - model)**2)
    if loss == "poisson":
        return np.sum(model - array * np.log(model + EPSILON))
    if loss == "bernoulli-odds":
        return np.sum(np.log(model + 1) - array * np.log(model + EPSILON))
    return np.sum(np.logaddexp(0, model) - array * model)  # bernoulli-logit


def gradients(array, factors, loss):
    """From the definition: the derivative at every cell, times the other modes' rows."""
    model = dense_model(factors)
    derivative = 2 * (model - array) if loss == "gaussian" else 1 - array / (model + EPSILON)
    return [dense_mttkrp(derivative, factors, mode) for mode in range(len(factors))]


def sparse_gradients(tensor, factors, loss):
    """From the given cells alone and the closed form of the rest: what blco's passes compute."""
    model = dense_model(factors)
    given = tensor.array != 0
    result = []
    for mode, factor in enumerate(factors):
        if loss == "gaussian":
            zeros = 2 * factor @ gram_product(factors, mode)
            beyond = np.where(given, -2 * tensor.array, 0)
        else:
            sums = [other.sum(axis=0) for n, other in enumerate(factors) if n != mode]
            zeros = np.tile(np.prod(sums, axis=0), (len(factor), 1))
            beyond = np.where(given, -tensor.array / (model + EPSILON), 0)
        result.append(zeros + dense_mttkrp(beyond, factors, mode))
    return result


def weighted(model):
    return [model.factors[0] * model.weights, *model.factors[1:]]


def printed_objective(output):
    return float(re.findall(r"sweep .* objective (\S+)", output)[-1])


def random_factors(seed, shape=SHAPE, low=0.1):
    random = np.random.default_rng(seed)
    return [random.uniform(low, 1.0, (length, RANK)) for length in shape]


def counts(seed):
    random = np.random.default_rng(seed)
    return random.poisson(dense_model(random_factors(seed + 1, low=0.0)) * 0.4).astype(float)


def check_lbfgs(bench, loss):
    array = counts(3)
    tensor = bench.tensor(array)
    options = ("--method", "gcp", "--loss", loss, "--rank", RANK, "--tolerance", 0)
    start = random_factors(7)
    for expected, actual in zip(gradients(array, start, loss), sparse_gradients(tensor, start, loss)):
        bench.near(f"{loss}, the closed form's gradient", actual, expected, 1e-12)

    first, output = bench.fit(tensor, *options, "--init", bench.start(start), "--sweeps", 1, "--evaluations", 2)
    bench.near(f"{loss}, objective of two evaluations", printed_objective(output),
               objective(array, dense_model(weighted(first)), loss), 1e-11)
    model = bench.everywhere(f"gcp {loss}", tensor, *options, "--sweeps", 3, "--evaluations", 20, "--seed", 2)
    bench.near(f"{loss}, objective after three sweeps", model.history[-1],
               objective(array, dense_model(weighted(model)), loss), 1e-11)
    bench.holds(f"{loss}, the objective falls", np.all(np.diff(model.history) <= 0))

    last, _ = bench.fit(tensor, *options, "--sweeps", 40, "--seed", 2)
    factors = weighted(last)
    for n, slope in enumerate(gradients(array, factors, loss)):
        if loss == "poisson":  # at a bound it may point outwards
            slope = np.where(factors[n] > 0, slope, np.minimum(slope, 0))
        size = np.max(np.abs(dense_mttkrp(array, factors, n)))
        bench.holds(f"{loss}, mode {n}: the gradient is {np.max(np.abs(slope)) / size:.1e} of the data's part",
                    np.max(np.abs(slope)) <= 1e-3 * size)


def check_adam(bench, loss):
    random = np.random.default_rng(11)
    array = (random.random(SHAPE) < dense_model(random_factors(12, low=0.0)) * 0.4).astype(float)
    tensor = bench.tensor(array)
    options = ("--method", "gcp", "--loss", loss, "--rank", RANK, "--learning-rate", 0.005, "--seed", 2,
               "--samples", 500)
    model = bench.everywhere(f"gcp {loss}", tensor, *options, "--sweeps", 1)
    more, _ = bench.fit(tensor, *options, "--sweeps", 10)
    before, after = (objective(array, dense_model(weighted(m)), loss) for m in (model, more))
    bench.holds(f"{loss}: {before:.1f} after one epoch, {after:.1f} after ten", after < before)
    bench.near(f"{loss}: the estimate of the objective", more.history[-1], after, 0.1)
    if loss == "bernoulli-odds":
        constant = objective(array, np.full(SHAPE, array.mean() / (1 - array.mean())), loss)
        bench.holds(f"{loss}: better than one probability for all cells, {constant:.1f}", after < constant)


def checks(bench):
    for loss in ("gaussian", "poisson"):
        check_lbfgs(bench, loss)
    for loss in ("bernoulli-odds", "bernoulli-logit"):
        check_adam(bench, loss)


def peer_checks(bench):
    """pyttb's gradients are those of the closed form; from the same start, its L-BFGS-B ends at the same objective."""
    import logging

    logging.disable(logging.WARNING)  # one line for each matrix that it copies
    import pyttb as ttb
    from pyttb.gcp.fg import evaluate
    from pyttb.gcp.fg_setup import setup
    from pyttb.gcp.handles import Objectives
    from pyttb.gcp.optimizers import LBFGSB

    array = counts(3)
    tensor = bench.tensor(array)
    for loss, kind in (("gaussian", Objectives.GAUSSIAN), ("poisson", Objectives.POISSON)):
        start = random_factors(7)
        function, gradient, lower = setup(kind, ttb.tensor(array))
        value, slopes = evaluate(ttb.ktensor([np.asfortranarray(f) for f in start]), ttb.tensor(array), None, function,
                                 gradient)
        bench.near(f"{loss}, pyttb's objective", objective(array, dense_model(start), loss), value, 1e-12)
        for mode, (ours, theirs) in enumerate(zip(sparse_gradients(tensor, start, loss), slopes)):
            bench.near(f"{loss}, pyttb's gradient of mode {mode}", ours, theirs, 1e-12)
        model, _ = bench.fit(tensor, "--method", "gcp", "--loss", loss, "--rank", RANK, "--init", bench.start(start),
                             "--sweeps", 40, "--tolerance", 0)
        _, _, info = ttb.gcp_opt(ttb.tensor(array), RANK, kind, LBFGSB(maxiter=2000, iprint=-1),
                                 init=ttb.ktensor([np.asfortranarray(f) for f in start]), printitn=0)
        theirs = float(info["final_f"])
        bench.holds(f"{loss}: objective {model.history[-1]:.6f} beside pyttb's {theirs:.6f}",
                    model.history[-1] <= theirs + 1e-3 * abs(theirs))
