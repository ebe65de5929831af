"""Counts by CP-APR, and completion of the entries alone. See check_methods.py."""
import json

import numpy as np

from method_oracles import compare_models, dense_model, dense_mttkrp

RANK = 3
KKT_TOLERANCE, KAPPA, KAPPA_TOLERANCE, FLOOR, INNER = 1e-4, 0.01, 1e-10, 1e-10, 10


def count_array(seed, shape, mean=0.7):
    return np.random.default_rng(seed).poisson(mean, shape).astype(float)


def uniform_start(seed, shape, rank=RANK):
    random = np.random.default_rng(seed)
    return [random.uniform(0.05, 1, (length, rank)) for length in shape]


def apr_objective(array, factors, weights):
    rates = dense_model(factors, weights)
    given = array > 0
    return np.sum(rates) - np.sum(array[given] * np.log(np.maximum(rates[given], FLOOR)))


def apr(array, start, sweeps):
    """Chi & Kolda 2012, algorithm 3; zeros are judged by the phi of the moment. Objectives and KKT violations."""
    factors = [factor / factor.sum(axis=0) for factor in start]
    weights = np.prod([factor.sum(axis=0) for factor in start], axis=0)
    objectives, violations = [], []
    for _ in range(sweeps):
        worst = 0.0
        for mode in range(array.ndim):
            for inner in range(INNER):
                def phi():
                    return dense_mttkrp(array / np.maximum(dense_model(factors, weights), FLOOR), factors, mode)
                ratios = phi()
                violation = np.max(np.abs(np.minimum(factors[mode] * weights, 1 - ratios)))
                worst = max(worst, violation) if inner == 0 else worst
                if violation < KKT_TOLERANCE:
                    break
                stuck = (factors[mode] < KAPPA_TOLERANCE) & (ratios > 1 + KKT_TOLERANCE)
                if inner == 0 and np.any(stuck):
                    factors[mode] = factors[mode] + KAPPA * stuck
                    ratios = phi()
                factors[mode] = factors[mode] * ratios
            sums = factors[mode].sum(axis=0)
            factors[mode] = factors[mode] / np.where(sums > 0, sums, 1)
            weights = weights * sums
        objectives.append(apr_objective(array, factors, weights))
        violations.append(worst)
    return factors, weights, objectives, violations


def reported(output, key):
    """The values of a key in all sweeps of --json."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [event[key] for event in events if event.get("event") == "sweep"]


def check_apr(bench):
    for shape in [(9, 8), (8, 7, 6), (5, 4, 6, 3)]:
        array = count_array(1, shape)
        tensor = bench.tensor(array, chunk_nnz=16)
        start = uniform_start(2, shape)
        path = bench.start(start)
        name = f"apr, {len(shape)} modes"
        factors, weights, objectives, _ = apr(array, start, 5)
        options = ["--method", "apr", "--init", path, "--sweeps", 5]
        model = bench.everywhere(name, tensor, *options)
        bench.near(f"{name}, objectives", model.history, objectives, 1e-11)
        compare_models(bench, name, model, factors, weights, 1e-8)


def planted_zeros():
    """Counts of two blocks, a start, and the start with four zeros that multiplication never lifts."""
    array = np.zeros((4, 3, 3))
    array[:2, :2, :2] = 1
    array[2:, 1:, 2] = 2
    array[0, 0, 0], array[3, 2, 2], array[1, 1, 2] = 3, 1, 1
    clean = [np.array([[((7 * i + 5 * r + 3 * n) % 11 + 1) / 11 for r in range(2)] for i in range(length)])
             for n, length in enumerate(array.shape)]
    planted = [factor.copy() for factor in clean]
    planted[0][2:, 0], planted[1][1, 0], planted[2][2, 0] = 0, 0, 0
    return array, clean, planted


# What pyttb 1.8.6 says of planted_zeros() after 100 iterations, for kappa = 0 and kappa = 0.01.
STUCK_OBJECTIVE, FREED_OBJECTIVE = 18.523248, 11.61601


def check_planted_zeros(bench):
    array, clean, planted = planted_zeros()
    tensor = bench.tensor(array)
    for name, start, kappa, expected, tolerance in [
            ("a clean start", clean, 0, FREED_OBJECTIVE, 1e-5),
            ("planted zeros stay", planted, 0, STUCK_OBJECTIVE, 1e-7),
            ("planted zeros are lifted", planted, KAPPA, FREED_OBJECTIVE, 1e-5)]:
        model, output = bench.fit(tensor, "--method", "apr", "--init", bench.start(start), "--sweeps", 200, "--kappa",
                                  kappa, "--tolerance", KKT_TOLERANCE / 2, "--json")  # of halves, as the fit sees them
        bench.near(f"apr, {name}: objective", model.history[-1], expected, tolerance)
        violation = reported(output, "kkt_violation")[-1]
        bench.holds(f"apr, {name}: KKT violation {violation:.1e}",
                    violation < KKT_TOLERANCE if expected == FREED_OBJECTIVE else violation > 1)


def rows_of(places, shape):
    """Per mode, the entries of each row."""
    return [[np.flatnonzero(places[mode] == i) for i in range(length)] for mode, length in enumerate(shape)]


def hadamard(places, factors, left_out=-1):
    product = np.ones((len(places[0]), factors[0].shape[1]))
    for mode, factor in enumerate(factors):
        if mode != left_out:
            product *= factor[places[mode]]
    return product


def conjugate_gradients(system, right, row, steps):
    """The start's distance counts as rounding once it is 1e-13 of the right-hand side."""
    residual = right - system @ row
    direction = residual.copy()
    for _ in range(steps):
        before = residual @ residual
        if before <= 1e-26 * (right @ right):
            break
        product = system @ direction
        alpha = before / (direction @ product)
        row = row + alpha * direction
        residual = residual - alpha * product
        direction = residual + (residual @ residual) / before * direction
    return row


def completion(places, values, start, sweeps, ridge, steps=None):
    """Row by row, exactly or by so many steps. Objectives, and root mean squares of the residual."""
    factors = [np.array(factor) for factor in start]
    ridge = ridge * np.mean(values ** 2) ** (1 - 1 / len(factors))
    entries = rows_of(places, [len(factor) for factor in factors])
    objectives, errors = [], []
    for _ in range(sweeps):
        for mode, factor in enumerate(factors):
            products = hadamard(places, factors, mode)
            for i, own in enumerate(entries[mode]):
                system = products[own].T @ products[own] + ridge * np.eye(factor.shape[1])
                right = products[own].T @ values[own]
                if steps is None:
                    factor[i] = np.linalg.lstsq(system, right, rcond=None)[0]
                else:
                    factor[i] = conjugate_gradients(system, right, factor[i], steps)
        squared = np.sum((values - hadamard(places, factors).sum(axis=1)) ** 2)
        objectives.append(squared + ridge * sum(np.sum(factor ** 2) for factor in factors))
        errors.append(np.sqrt(squared / len(values)))
    return factors, objectives, errors


def check_completion(bench):
    shape = (12, 10, 9)
    random = np.random.default_rng(5)
    array = dense_model(uniform_start(1, shape)) + 0.1 * random.standard_normal(shape)
    array = np.where(random.random(shape) < 0.5, array, 0)
    tensor = bench.tensor(array, chunk_nnz=64)
    start = uniform_start(2, shape)
    path = bench.start(start)
    for steps, ridge in [(1, 0.0), (2, 0.0), (3, 0.4)]:
        name = f"completion by {steps} steps, ridge {ridge}"
        factors, objectives, _ = completion(tensor.coordinates, tensor.values, start, 4, ridge, steps)
        model = bench.everywhere(name, tensor, "--method", "complete", "--cg-steps", steps, "--ridge", ridge, "--init",
                                 path, "--sweeps", 4, "--tolerance", 0)
        bench.near(f"{name}, objectives", model.history, objectives, 1e-10)
        compare_models(bench, name, model, factors, np.ones(RANK), 1e-7)


def noisy_cells(bench, random, factors, count, noise):
    """So many cells of a model, each with some noise."""
    shape = [len(factor) for factor in factors]
    places = np.unravel_index(random.choice(np.prod(shape), count, replace=False), shape)
    array = np.zeros(shape)
    array[places] = hadamard(places, factors).sum(axis=1) + noise * random.standard_normal(count)
    return bench.tensor(array, chunk_nnz=8192)


def check_exact_completion(bench):
    """A long fit ends within 1 % of exact solves, and held-out entries see the error that numpy sees."""
    shape, rank, sweeps, nnz = (300, 200, 150), 8, 30, 60_000
    random = np.random.default_rng(11)
    truth = [random.standard_normal((length, rank)) for length in shape]

    given, held_out = (noisy_cells(bench, random, truth, count, 2) for count in (nnz, nnz // 10))
    start = [random.random(factor.shape) for factor in truth]
    _, _, exact = completion(given.coordinates, given.values, start, sweeps, 0.1)
    for steps in (2, 3):
        model, _ = bench.fit(given, "--method", "complete", "--cg-steps", steps, "--ridge", 0.1, "--init",
                             bench.start(start), "--sweeps", sweeps, "--tolerance", 0)
        places = given.coordinates
        values = (hadamard(places, model.factors) * model.weights).sum(axis=1)
        bench.near(f"completion by {steps} steps beside exact solves, root mean square error",
                   np.sqrt(np.mean((given.values - values) ** 2)), exact[-1], 0.01)
    # Near enough for the held-out error to fall before it rises.
    near = [factor + 0.7 * random.standard_normal(factor.shape) for factor in truth]
    model, output = bench.fit(given, "--method", "complete", "--ridge", 0.1, "--init", bench.start(near), "--sweeps",
                              100, "--tolerance", 0, "--validate", held_out.container, "--json")
    errors = reported(output, "validation_error")
    values = (hadamard(held_out.coordinates, model.factors) * model.weights).sum(axis=1)
    bench.near("completion: the model of the least held-out error", np.sqrt(np.mean((held_out.values - values) ** 2)),
               min(errors), 1e-9)
    bench.holds(f"completion: {len(errors)} sweeps, the last 20 without a smaller held-out error",
                np.argmin(errors) == len(errors) - 21)


def check_usual_completion(bench):
    """At default options a fit goes on until errors of held-out entries hardly fall any more."""
    shape, rank, nnz = (300, 200, 30), 6, 12_000
    random = np.random.default_rng(11)
    truth = [random.standard_normal((length, rank)) + 1 for length in shape]

    given, held_out = (noisy_cells(bench, random, truth, count, 0.3) for count in (nnz, nnz // 10))

    def error(*options):
        model, _ = bench.fit(given, "--method", "complete", "--ridge", 0.1, "--rank", rank, *options)
        values = (hadamard(held_out.coordinates, model.factors) * model.weights).sum(axis=1)
        return np.sqrt(np.mean((held_out.values - values) ** 2))

    usual, short = error(), error("--sweeps", 50)
    least = error("--sweeps", 2000, "--tolerance", 0)
    bench.holds(f"completion: the held-out error is {usual:.4f}, after 2000 sweeps {least:.4f}, less than 1% apart, but "
                f"after 50 {short:.4f}", usual < 1.01 * least < short)


def checks(bench):
    check_apr(bench)
    check_planted_zeros(bench)
    check_completion(bench)
    check_exact_completion(bench)
    check_usual_completion(bench)


def peer_checks(bench):
    """pyttb judges zeros by the phi of an older sweep, and by phi > 0; from a start without zeros both take one way."""
    import pyttb

    shape = (8, 7, 6)
    array = count_array(1, shape)
    tensor = bench.tensor(array)
    start = uniform_start(2, shape)

    def theirs(counts, factors, sweeps, kappa):
        data = pyttb.tensor(counts).to_sptensor()
        initial = pyttb.ktensor([np.array(factor) for factor in factors])
        model, _, output = pyttb.cp_apr(data, factors[0].shape[1], init=initial, maxiters=sweeps, kappa=kappa,
                                        printitn=0)
        return model, output

    expected, output = theirs(array, start, 4, 0)
    model, _ = bench.fit(tensor, "--method", "apr", "--kappa", 0, "--init", bench.start(start), "--sweeps", 4)
    bench.near("apr beside pyttb, objective", model.history[-1], -output["obj"], 1e-10)
    compare_models(bench, "apr beside pyttb", model, expected.factor_matrices, expected.weights, 1e-8)

    counts, _, planted = planted_zeros()
    for kappa, objective in [(0, STUCK_OBJECTIVE), (KAPPA, FREED_OBJECTIVE)]:
        _, output = theirs(counts, planted, 100, kappa)
        bench.near(f"planted zeros in pyttb, kappa {kappa}: objective", -output["obj"], objective, 1e-5)
