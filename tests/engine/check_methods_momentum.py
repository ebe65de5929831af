"""Least squares with momentum between the sweeps, and its restarts. See check_methods.py."""
import re

import numpy as np

from check_methods_rows import hals
from method_oracles import compare_models, dense_mttkrp, gram_product, planted_array

RANK = 4
SWEEPS = 40
FEWEST_PLAIN_SWEEPS = 3
SHARE_OF_SLOW_SWEEPS = 0.02

CASES = {
    "momentum": ([], [False] * 3, 0.0),
    "momentum with a ridge": (["--ridge", 0.05], [False] * 3, 0.05),
    "momentum, nonnegative": (["--nonnegative"], [True] * 3, 0.0),
    "momentum, nonnegative in one mode, with a ridge": (["--nonnegative=1", "--ridge", 0.05], [False, True, False],
                                                        0.05),
}


def plain_sweep(tensor, factors, weights, nonnegative, ridge):
    """Unit columns, their weights, the fit, and what is minimised."""
    factors, weights = list(factors), weights.copy()
    for mode, is_nonnegative in enumerate(nonnegative):
        system = gram_product(factors, mode) + ridge * np.eye(RANK)
        output = dense_mttkrp(tensor.array, factors, mode)
        rows = hals(output, system, factors[mode] * weights) if is_nonnegative else np.linalg.solve(system, output.T).T
        weights = np.linalg.norm(rows, axis=0)
        factors[mode] = rows / weights
    inner = np.sum(rows * output)
    squared = max(tensor.norm_squared + weights @ gram_product(factors) @ weights - 2 * inner, 0)
    return factors, weights, 1 - np.sqrt(squared / tensor.norm_squared), squared + ridge * np.sum(weights**2)


def spread(factors, weights):
    return [factor * weights ** (1 / len(factors)) for factor in factors]


def ahead(model, previous, step, nonnegative):
    rows = [last + step * (last - before) for last, before in zip(spread(*model), spread(*previous))]
    rows = [np.maximum(row, 0) if is_nonnegative else row for row, is_nonnegative in zip(rows, nonnegative)]
    norms = [np.linalg.norm(row, axis=0) for row in rows]
    return [row / norm for row, norm in zip(rows, norms)], np.prod(norms, axis=0)


def with_momentum(tensor, start, nonnegative, ridge):
    """The model, the fits after each sweep, and the sweeps that were restarts."""
    model, previous, fits, restarts = (start, np.ones(RANK)), None, [], []
    minimum, since = np.inf, 0
    for sweep in range(1, SWEEPS + 1):
        is_ahead = since > 0
        begin = ahead(model, previous, min(0.95, since / (since + 3)), nonnegative) if is_ahead else model
        factors, weights, fit, minimised = plain_sweep(tensor, *begin, nonnegative, ridge)
        if is_ahead and minimised > minimum:
            since = 0
            restarts.append(sweep)
            fits.append(fits[-1])
            continue
        model, previous = (factors, weights), model
        is_slow = minimum - minimised < SHARE_OF_SLOW_SWEEPS * (tensor.norm_squared - minimised)
        if is_ahead or (is_slow and sweep >= FEWEST_PLAIN_SWEEPS):
            since += 1
        minimum = minimised
        fits.append(fit)
    return model, fits, restarts


def checks(bench):
    random = np.random.default_rng(31)
    tensor = bench.tensor(planted_array(30, (13, 11, 9), RANK, noise=0.3, zeros=0.2))
    start = [random.random((length, RANK)) for length in tensor.shape]
    restarts_seen = 0
    for name, (options, nonnegative, ridge) in CASES.items():
        model, fits, restarts = with_momentum(tensor, start, nonnegative, ridge)
        words = [*options, "--momentum", "on", "--init", bench.start(start), "--sweeps", SWEEPS, "--tolerance", 0]
        fitted = bench.everywhere(name, tensor, *words)
        bench.near(f"{name}, fits", fitted.history, fits, 1e-10)
        compare_models(bench, name, fitted, *model, 1e-8)
        _, output = bench.fit(tensor, *words, "--threads", 1)
        told = [int(sweep) for sweep in re.findall(r"^sweep +(\d+) .* restart ", output, re.MULTILINE)]
        bench.holds(f"{name}: of restarts {restarts} it tells {told}", told == restarts)
        bench.holds(f"{name}: nonnegative where asked for",
                    all(np.min(factor) >= 0 for factor, asked in zip(fitted.factors, nonnegative) if asked))
        usual, _ = bench.fit(tensor, *options, "--init", bench.start(start), "--sweeps", SWEEPS, "--tolerance", 0,
                             "--threads", 1)
        bench.same(f"{name}, by default", usual, fitted)
        restarts_seen += len(restarts)
    bench.holds(f"momentum: {restarts_seen} restarts were seen", restarts_seen > 0)
