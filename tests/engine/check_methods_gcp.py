"""Generalised CP: objectives and gradients of gaussian and poisson over all cells, and Adam. See check_methods.py.

Gradients are those of blco's evaluate(), which dump_gradients prints; and where a long fit ends, they are zero.
"""
import json
import re

import numpy as np

from method_oracles import SmallTensor, dense_model, dense_mttkrp

RANK = 3
SHAPE = (12, 9, 14)
EPSILON = 1e-10


# Hong, Kolda & Duersch 2020, table 1: the loss of an entry, and its derivative by the model's value.
HUBER, BETA = 0.4, 1.5
LOSSES = {
    "gaussian": (lambda x, m: (x - m)**2, lambda x, m: 2 * (m - x)),
    "poisson": (lambda x, m: m - x * np.log(m + EPSILON), lambda x, m: 1 - x / (m + EPSILON)),
    "poisson-log": (lambda x, m: np.exp(m) - x * m, lambda x, m: np.exp(m) - x),
    "bernoulli-odds": (lambda x, m: np.log(m + 1) - x * np.log(m + EPSILON),
                       lambda x, m: 1 / (m + 1) - x / (m + EPSILON)),
    "bernoulli-logit": (lambda x, m: np.logaddexp(0, m) - x * m, lambda x, m: 1 / (1 + np.exp(-m)) - x),
    "gamma": (lambda x, m: x / (m + EPSILON) + np.log(m + EPSILON),
              lambda x, m: 1 / (m + EPSILON) - x / (m + EPSILON)**2),
    "rayleigh": (lambda x, m: 2 * np.log(m + EPSILON) + np.pi / 4 * (x / (m + EPSILON))**2,
                 lambda x, m: 2 / (m + EPSILON) - np.pi / 2 * x**2 / (m + EPSILON)**3),
    f"huber:{HUBER}": (lambda x, m: np.where(np.abs(x - m) <= HUBER, (x - m)**2, 2 * HUBER * np.abs(x - m) - HUBER**2),
                       lambda x, m: 2 * np.clip(m - x, -HUBER, HUBER)),
    f"beta:{BETA}": (lambda x, m: (m + EPSILON)**BETA / BETA - x * (m + EPSILON)**(BETA - 1) / (BETA - 1),
                     lambda x, m: (m + EPSILON)**(BETA - 1) - x * (m + EPSILON)**(BETA - 2)),
}
SUMS_OVER_ZEROS = ("gaussian", "poisson")
SIGNED = ("gaussian", "poisson-log", "bernoulli-logit", f"huber:{HUBER}")  # losses of any m


def objective(array, model, loss, cells=True):
    """Over all cells, or those for which `cells` holds."""
    return np.sum(np.where(cells, LOSSES[loss][0](array, model), 0))


def unit_of(array):
    """The first power of two that is at least the root mean square of the entries: EPSILON counts in it."""
    return 2.0**np.ceil(np.log2(np.mean(array[array != 0]**2)) / 2)


def objective_in_unit(array, model, loss, unit):
    """As a fit has it, in the unit of the values."""
    if loss != "poisson":
        return objective(array, model, loss)
    return unit * objective(array / unit, model / unit, loss) - np.sum(array) * np.log(unit)


def gradients(array, factors, loss, cells=True):
    """From the definition: the derivative at every cell, times the other modes' rows."""
    derivative = np.where(cells, LOSSES[loss][1](array, dense_model(factors)), 0)
    return [dense_mttkrp(derivative, factors, mode) for mode in range(len(factors))]


def evaluated(bench, tensor, factors, loss, absent):
    """Value and gradients by blco's evaluate()."""
    output, _ = bench.commands.run("dump_gradients", tensor.container, bench.start(factors), loss, absent)
    result = json.loads(output)
    return result["value"], [np.array(slopes).reshape(factor.shape)
                             for slopes, factor in zip(result["gradients"], factors)]


def weighted(model):
    return [model.factors[0] * model.weights, *model.factors[1:]]


def balanced(model):
    """The weights in all factors alike, the signs in the first."""
    roots = np.abs(model.weights)**(1 / len(model.factors))
    return [factor * roots * (np.sign(model.weights) if n == 0 else 1) for n, factor in enumerate(model.factors)]


def constants(array, loss):
    """Numbers among which the best one for all cells is, but for a percent."""
    if loss in SIGNED:
        return np.linspace(-10, 10, 2001)
    return np.geomspace(1e-3, 1e2, 2001)


def printed_objective(output):
    return float(re.findall(r"sweep .* objective (\S+)", output)[-1])


def random_factors(seed, shape=SHAPE, low=0.1):
    random = np.random.default_rng(seed)
    return [random.uniform(low, 1.0, (length, RANK)) for length in shape]


def counts(seed):
    random = np.random.default_rng(seed)
    return random.poisson(dense_model(random_factors(seed + 1, low=0.0)) * 0.4).astype(float)


def sparse_case(loss, shape, seed):
    """An array of which a tenth is given, by values that suit the loss, and factors."""
    random = np.random.default_rng(seed)
    values = random.gamma(2.0, 1.0, shape) + 0.1
    if loss.startswith("bernoulli"):
        values = np.ones(shape)
    elif loss.startswith("poisson"):
        values = random.poisson(2.0, shape) + 1.0
    return np.where(random.random(shape) < 0.1, values, 0), random_factors(seed + 1, shape)


def compare_gradients(bench, what, actual, expected):
    """Pairs of a value and a gradient per mode."""
    bench.near(f"{what}, value", actual[0], expected[0], 1e-12)
    for mode, (ours, theirs) in enumerate(zip(actual[1], expected[1], strict=True)):
        bench.near(f"{what}, gradient of mode {mode}", ours, theirs, 1e-12)


def check_evaluate(bench):
    """blco's evaluate() beside the definition, over all cells where it can, and over the given ones."""
    for shape in [(12, 9, 14), (30, 20), (6, 5, 7, 4)]:
        for seed, loss in enumerate(LOSSES):
            array, factors = sparse_case(loss, shape, seed)
            tensor = bench.tensor(array, chunk_nnz=32)
            model = dense_model(factors)
            for absent, cells in (("unknown", array != 0), ("zeros", True)):
                if absent == "zeros" and loss not in SUMS_OVER_ZEROS:
                    continue
                compare_gradients(bench, f"evaluate, {loss}, {len(shape)} modes, absent cells {absent}",
                                  evaluated(bench, tensor, factors, loss, absent),
                                  (objective(array, model, loss, cells), gradients(array, factors, loss, cells)))


def check_lbfgs(bench, loss):
    array = counts(3)
    tensor = bench.tensor(array)
    options = ("--method", "gcp", "--loss", loss, "--rank", RANK, "--tolerance", 0)
    start = random_factors(7)

    first, output = bench.fit(tensor, *options, "--init", bench.start(start), "--sweeps", 1, "--evaluations", 2)
    bench.near(f"{loss}, objective of two evaluations", printed_objective(output),
               objective_in_unit(array, dense_model(weighted(first)), loss, unit_of(array)), 1e-11)
    model = bench.everywhere(f"gcp {loss}", tensor, *options, "--sweeps", 3, "--evaluations", 20, "--seed", 2)
    bench.near(f"{loss}, objective after three sweeps", model.history[-1],
               objective_in_unit(array, dense_model(weighted(model)), loss, unit_of(array)), 1e-11)
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
    options = ("--method", "gcp-adam", "--loss", loss, "--rank", RANK, "--learning-rate", 0.005, "--seed", 2,
               "--samples", 500)
    model = bench.everywhere(f"gcp-adam {loss}", tensor, *options, "--sweeps", 1)
    more, _ = bench.fit(tensor, *options, "--sweeps", 10)
    before, after = (objective(array, dense_model(weighted(m)), loss) for m in (model, more))
    bench.holds(f"{loss}: {before:.1f} after one sweep, {after:.1f} after ten", after < before)
    bench.near(f"{loss}: the estimate of the objective", more.history[-1], after, 0.1)
    if loss == "bernoulli-odds":
        constant = objective(array, np.full(SHAPE, array.mean() / (1 - array.mean())), loss)
        bench.holds(f"{loss}: better than one probability for all cells, {constant:.1f}", after < constant)


def dense_values(loss, shape, seed):
    """A value for each cell, of a planted model and noise, in the range of the loss."""
    random = np.random.default_rng(seed)
    mean = dense_model(random_factors(seed + 1, shape))
    if loss in ("poisson-log", "bernoulli-logit"):  # of weaker components the minimum would lie at infinity
        mean = np.exp(dense_model([random.normal(0, 0.9, (length, RANK)) for length in shape]))
    if loss.startswith("bernoulli"):
        return (random.random(shape) < mean / (1 + mean)).astype(float)
    if loss.startswith("poisson"):
        return random.poisson(2 * mean).astype(float)
    if loss in ("gaussian", f"huber:{HUBER}"):
        return mean + random.standard_t(3, shape) * 0.3
    return mean * random.gamma(4.0, 0.25, shape)


def improved_by_scipy(array, factors, loss):
    """The objective where scipy's L-BFGS-B ends that starts from these factors."""
    import scipy.optimize

    ends = np.cumsum([factor.size for factor in factors])[:-1]

    def both(numbers):
        split = [part.reshape(factor.shape) for part, factor in zip(np.split(numbers, ends), factors)]
        slopes = gradients(array, split, loss)
        return objective(array, dense_model(split), loss), np.concatenate([slope.ravel() for slope in slopes])

    start = np.concatenate([factor.ravel() for factor in factors])
    bounds = None if loss in SIGNED else [(0, None)] * start.size
    found = scipy.optimize.minimize(both, start, jac=True, method="L-BFGS-B", bounds=bounds,
                                    options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-12, "gtol": 1e-9})
    return found.fun


def check_ends(bench):
    """Every loss on small tensors, at default options: the objective is that of the model, and its end is a minimum."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        print("SKIPPED: scipy is not there to improve the ends of gcp; install python3-scipy")
        return
    for seed, loss in enumerate(LOSSES):
        array = dense_values(loss, (24, 20, 16), seed)
        for all_listed in (True, False):
            if loss in ("gamma", "rayleigh") and not all_listed:
                continue  # they have no value for a cell that is zero
            what = f"{loss}, {'all cells' if all_listed else 'nonzeros'} listed"
            tensor = bench.tensor(array, chunk_nnz=256, zeros=all_listed)
            model, output = bench.fit(tensor, "--method", "gcp", "--loss", loss, "--rank", RANK, "--threads", 1)
            factors = weighted(model)
            ours = objective(array, dense_model(factors), loss)
            bench.near(f"{what}: the objective beside numpy's", model.history[-1], ours, 1e-9)
            theirs = improved_by_scipy(array, balanced(model), loss)
            bench.holds(f"{what}: scipy lowers the objective from {ours:.6g} to {theirs:.6g}, less than 0.1%",
                        theirs >= ours - 1e-3 * abs(ours))
            constant = min(objective(array, np.full(array.shape, m), loss) for m in constants(array, loss))
            bench.holds(f"{what}: below {constant:.6g}, the best constant", ours < constant)


def check_counted_cells(bench):
    """On a real tensor whose cells can be counted out, the objective of all of them."""
    path = bench.data / "unhcr.tns.gz"
    if not path.exists():
        print(f"SKIPPED: {path} is not there, so that no objective of a real tensor is counted out")
        return
    container = bench.folder / "unhcr.blco"
    bench.commands.run("blco-ingest", path, "-o", container, "--quiet")
    entries = np.loadtxt(path)
    shape = entries[:, :-1].max(axis=0).astype(int)
    array = np.zeros(shape)
    array[tuple(entries[:, :-1].astype(int).T - 1)] = entries[:, -1]
    # The zeros of huber are sampled, and a few of them, beside large values, have most of their loss.
    for loss, tolerance in (("gaussian", 1e-9), ("poisson", 1e-9), (f"huber:{HUBER}", 0.2)):
        limits = () if loss not in SUMS_OVER_ZEROS else ("--evaluations", 10)
        model, _ = bench.fit(SmallTensor(container, array), "--method", "gcp", "--loss", loss, "--rank", RANK,
                             "--sweeps", 1, *limits)
        first, *others = weighted(model)
        counted = sum(objective_in_unit(array[i:i + 1], dense_model([first[i:i + 1], *others]), loss, unit_of(array))
                      for i in range(len(first)))
        bench.near(f"{loss}, unhcr: the objective beside that of each cell", model.history[-1], counted, tolerance)


def checks(bench):
    check_evaluate(bench)
    check_ends(bench)
    check_counted_cells(bench)
    for loss in ("gaussian", "poisson"):
        check_lbfgs(bench, loss)
    for loss in ("bernoulli-odds", "bernoulli-logit"):
        check_adam(bench, loss)


def peer_checks(bench):
    """blco's gradients are pyttb's; from the same start, both L-BFGS-B end at the same objective."""
    import logging

    logging.disable(logging.WARNING)  # one line for each matrix that it copies
    import pyttb as ttb
    from pyttb.gcp.fg import evaluate
    from pyttb.gcp.fg_setup import setup
    from pyttb.gcp.handles import Objectives
    from pyttb.gcp.optimizers import LBFGSB

    kinds = {"gaussian": Objectives.GAUSSIAN, "poisson": Objectives.POISSON, "poisson-log": Objectives.POISSON_LOG,
             "bernoulli-odds": Objectives.BERNOULLI_ODDS, "bernoulli-logit": Objectives.BERNOULLI_LOGIT,
             "gamma": Objectives.GAMMA, "rayleigh": Objectives.RAYLEIGH, f"huber:{HUBER}": Objectives.HUBER,
             f"beta:{BETA}": Objectives.BETA}

    def ktensor(factors):
        return ttb.ktensor([np.asfortranarray(factor) for factor in factors])

    def theirs(array, factors, loss, cells):
        parameter = {f"huber:{HUBER}": HUBER, f"beta:{BETA}": BETA}.get(loss)
        function, gradient, _ = setup(kinds[loss], None, parameter)
        weights = None if cells is None else cells.astype(float)
        return evaluate(ktensor(factors), ttb.tensor(array), weights, function, gradient)

    for seed, loss in enumerate(LOSSES):
        array, factors = sparse_case(loss, SHAPE, seed)
        tensor = bench.tensor(array, chunk_nnz=32)
        compare_gradients(bench, f"evaluate beside pyttb, {loss}, the entries",
                          evaluated(bench, tensor, factors, loss, "unknown"), theirs(array, factors, loss, array != 0))
        if loss in SUMS_OVER_ZEROS:
            compare_gradients(bench, f"evaluate beside pyttb, {loss}, all cells",
                              evaluated(bench, tensor, factors, loss, "zeros"), theirs(array, factors, loss, None))

    array = counts(3)
    tensor = bench.tensor(array)
    for loss in SUMS_OVER_ZEROS:
        start = random_factors(7)
        model, _ = bench.fit(tensor, "--method", "gcp", "--loss", loss, "--rank", RANK, "--init", bench.start(start),
                             "--sweeps", 40, "--tolerance", 0)
        def theirs_from(factors):
            _, _, info = ttb.gcp_opt(ttb.tensor(array), RANK, kinds[loss], LBFGSB(maxiter=2000, iprint=-1),
                                     init=ktensor(factors), printitn=0)
            return float(info["final_f"])

        # From one start two optimisers may end in different local minima, but ours is one.
        ours, expected = model.history[-1], theirs_from(start)
        further = theirs_from(weighted(model))
        bench.holds(f"{loss}: objective {ours:.6f} beside pyttb's {expected:.6f}",
                    ours <= expected + 1e-3 * abs(expected))
        bench.holds(f"{loss}: pyttb lowers the objective to {further:.6f} at most", further >= ours - 1e-5 * abs(ours))
