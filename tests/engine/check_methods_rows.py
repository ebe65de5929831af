"""Least squares with rows that are constrained: HALS and AO-ADMM, with and without a ridge. See check_methods.py."""
import numpy as np

from method_oracles import arranged, compare_models, dense_model, dense_mttkrp, gram_product, planted_array, read_model

SWEEPS = 6
RANK = 4
HALS_PASSES = 2
ADMM_STEPS = 10


def hals(output, system, rows, l1=0.0):
    """Columns in turn, each at the exact minimum over numbers of 0 or above."""
    rows = np.where(np.any(output != 0, axis=1)[:, None], rows, 0.0)
    live = np.any(output != 0, axis=1)
    for _ in range(HALS_PASSES):
        for r in range(rows.shape[1]):
            if system[r, r] > 0:
                step = (output[:, r] - l1 / 2 - rows @ system[:, r]) / system[r, r]
                rows[:, r] = np.where(live, np.maximum(0.0, rows[:, r] + step), 0.0)
    return rows


def on_simplex(rows):
    """Each row's nearest of those that are 0 or above and add up to 1: the threshold is found by bisection."""
    low, high = np.max(rows, axis=1) - 1, np.max(rows, axis=1)
    for _ in range(200):
        middle = (low + high) / 2
        too_much = np.sum(np.maximum(rows - middle[:, None], 0), axis=1) > 1
        low, high = np.where(too_much, middle, low), np.where(too_much, high, middle)
    return np.maximum(rows - high[:, None], 0)


def soft(rows, threshold):
    return np.sign(rows) * np.maximum(np.abs(rows) - threshold, 0)


def admm(output, system, rows, dual, project):
    rho = np.trace(system) / len(system)
    inverse = np.linalg.inv(system + rho * np.eye(len(system)))
    for _ in range(ADMM_STEPS):
        solution = (output + rho * (rows + dual)) @ inverse
        rows = project(solution - dual, rho)
        dual = dual + rows - solution
    return rows, dual


NORMALISED = ("plain", "hals")
LIMITED = ("box", "box of both signs", "simplex")
PROJECTIONS = {
    "box": lambda rows, rho: np.clip(rows, 0.1, 0.9),
    "box of both signs": lambda rows, rho: np.clip(rows, -0.5, 0.75),
    "simplex": lambda rows, rho: on_simplex(rows),
    "l1": lambda rows, rho: soft(rows, 0.3 / (2 * rho)),
    "nonnegative l1 by ADMM": lambda rows, rho: np.maximum(soft(rows, 0.3 / (2 * rho)), 0),
}


def als(tensor, start, kinds, ridge, sweeps=SWEEPS):
    """Per mode one of "plain", "hals" or a name of PROJECTIONS."""
    factors = [np.array(factor) for factor in start]
    weights = np.ones(RANK)
    duals = [np.zeros_like(factor) for factor in factors]
    fits = []
    # Where no mode can fit the weights, all have one value: the best for the rows that a sweep has made.
    has_one_weight = set(kinds) <= set(LIMITED)
    for _ in range(sweeps):
        for mode, kind in enumerate(kinds):
            # Rows that keep their scale are fitted with the weights in the others, where one of these may be scaled.
            keeps = kind not in NORMALISED
            carries = keeps and (set(kinds) & set(NORMALISED) or has_one_weight)
            carried = np.diag(weights) if carries else np.eye(RANK)
            system = carried @ gram_product(factors, mode) @ carried + ridge * np.eye(RANK)
            output = dense_mttkrp(tensor.array, factors, mode) @ carried
            old = factors[mode] if keeps else factors[mode] * weights
            if kind == "plain":
                rows = np.linalg.solve(system, output.T).T
            elif kind.startswith("hals"):
                rows = hals(output, system, old, 0.3 if kind == "hals l1" else 0.0)
            else:
                rows, duals[mode] = admm(output, system, old, duals[mode], PROJECTIONS[kind])
            if not keeps:
                weights = np.linalg.norm(rows, axis=0)
            scale = np.ones(RANK) if keeps else np.where(weights > 0, weights, 1)
            factors[mode] = rows / scale
            inner = np.sum(rows * output)
        if has_one_weight:
            model = dense_model(factors)
            weights = np.full(RANK, np.sum(tensor.array * model) / np.sum(model**2))
            inner = np.sum(tensor.array * model) * weights[0]
        squared = tensor.norm_squared + weights @ gram_product(factors) @ weights - 2 * inner
        fits.append(1 - np.sqrt(max(squared, 0) / tensor.norm_squared))
    return factors, weights, fits


def constraint_holds(kind, rows):
    if kind.startswith("hals"):
        return np.min(rows) >= 0
    if kind == "box":
        return np.min(rows) >= 0.1 and np.max(rows) <= 0.9
    if kind == "box of both signs":
        return np.min(rows) >= -0.5 and np.max(rows) <= 0.75
    if kind == "simplex":
        return np.min(rows) >= 0 and np.max(np.abs(np.sum(rows, axis=1) - 1)) < 1e-12
    return True  # l1 penalises, and forbids nothing


CASES = {
    "least squares": ([], ["plain"] * 3, 0.0),
    "ridge": (["--ridge", 0.5], ["plain"] * 3, 0.5),
    "nonnegative": (["--nonnegative"], ["hals"] * 3, 0.0),
    "nonnegative with a ridge": (["--nonnegative", "--ridge", 0.5], ["hals"] * 3, 0.5),
    "nonnegative l1": (["--nonnegative", "--l1", 0.3], ["hals l1"] * 3, 0.0),
    "nonnegative in one mode": (["--nonnegative=1"], ["plain", "hals", "plain"], 0.0),
    "box": (["--box", "0.1:0.9"], ["box"] * 3, 0.0),
    "box in one mode": (["--box=-0.5:0.75:2"], ["plain", "plain", "box of both signs"], 0.0),
    "simplex in one mode": (["--simplex=0"], ["simplex", "plain", "plain"], 0.0),
    "simplex beside nonnegative": (["--simplex=0", "--nonnegative=1,2"], ["simplex", "hals", "hals"], 0.0),
    "l1": (["--l1", 0.3], ["l1"] * 3, 0.0),
    "l1 with a ridge": (["--l1", 0.3, "--ridge", 0.5], ["l1"] * 3, 0.5),
}


def start_of(tensor, seed):
    random = np.random.default_rng(seed)
    return [random.random((length, RANK)) for length in tensor.shape]


def area_under_curve(listed, others):
    """The probability that a listed cell has the larger value."""
    ranks = np.argsort(np.argsort(np.concatenate([listed, others]), kind="stable"), kind="stable")
    return (ranks[:len(listed)].mean() - (len(listed) - 1) / 2) / len(others)


def check_fold_in(bench):
    """Rows of new origins, from half of their entries, tell the rest better than the means of the rows do."""
    path = bench.data / "unhcr.tns.gz"
    if not path.exists():
        print(f"SKIPPED: {path} is not there, so that no rows of a real tensor are folded in")
        return
    entries, random = np.loadtxt(path), np.random.default_rng(1)
    shape = entries[:, :-1].max(axis=0).astype(int)
    entries[:, 0] = random.permutation(shape[0])[entries[:, 0].astype(int) - 1] + 1
    entries[:, -1] = np.log1p(entries[:, -1])
    old = shape[0] * 4 // 5
    is_new, is_given = entries[:, 0] > old, random.random(len(entries)) < 0.5

    def fit(name, which, rows, *options):
        text, tensor, model = (bench.folder / f"{name}{ending}" for ending in (".tns", ".blco", ".h5"))
        np.savetxt(text, entries[which], fmt="%.17g")
        lengths = "x".join(map(str, [rows, *shape[1:]]))
        bench.commands.run("blco-ingest", text, "-o", tensor, "--shape", lengths, "--quiet")
        bench.commands.run("blco-cpd", tensor, "--nonnegative", "-o", model, "--quiet", *options)
        return read_model(model)

    before = fit("origins", ~is_new, old, "--rank", 8)
    after = fit("new_origins", is_new & is_given, shape[0], "--init", bench.folder / "origins.h5", "--hold", "1,2,3")
    bench.holds("fold-in: held factors keep every bit",
                all(np.array_equal(a, b) for a, b in zip(before.factors[1:], after.factors[1:])))

    def cells(which):
        array = np.zeros(shape)
        array[tuple(entries[which, :-1].astype(int).T - 1)] = entries[which, -1]
        return array[old:]

    given, rest = cells(is_new & is_given), cells(is_new & ~is_given)
    model = dense_model([after.factors[0][old:], *after.factors[1:]], after.weights)
    means = np.broadcast_to(given.mean(axis=(1, 2, 3), keepdims=True), rest.shape)
    of_model, of_means = (np.sqrt(np.mean((rest - values) ** 2)) for values in (model, means))
    bench.holds(f"fold-in, unhcr: root mean square error {of_model:.4f}, of the rows' means {of_means:.4f}",
                of_model < 0.9 * of_means)
    others = (given + rest == 0) & (random.random(rest.shape) < 0.002)
    areas = [area_under_curve(values[rest > 0], values[others]) for values in (model, means)]
    bench.holds("fold-in, unhcr: area under the curve {:.3f}, of the rows' means {:.3f}".format(*areas),
                areas[0] > 0.95 and areas[0] > areas[1])


def falling_tensor(bench):
    """Singular values of 1, 1e-2, 1e-4 and 1e-6 of each unfolding, and noise."""
    random = np.random.default_rng(23)
    bases = [np.linalg.qr(random.standard_normal((length, RANK)))[0] for length in (13, 11, 9)]
    array = dense_model(bases, 0.01 ** np.arange(RANK))
    return bench.tensor(array + 1e-9 * random.standard_normal(array.shape))


def check_alike(bench, what, model, factors, weights):
    """Components of one sweep: a start that has none of the small ones does not find them in it."""
    own, own_weights = model.scaled()
    others, other_weights = arranged(factors, weights)
    bench.near(f"{what}, relative weights", own_weights / other_weights, np.ones(RANK), 1e-3)
    for mode, (actual, expected) in enumerate(zip(own, others)):
        bench.near(f"{what}, cosines of mode {mode}", np.sum(actual * expected, axis=0), np.ones(RANK), 1e-3)


def check_leading_vectors(bench):
    """--start nvecs: where singular values fall, a sweep from it is one from numpy's singular vectors."""
    tensor = falling_tensor(bench)
    unfoldings = [np.moveaxis(tensor.array, mode, 0).reshape(length, -1) for mode, length in enumerate(tensor.shape)]
    vectors = [np.linalg.svd(unfolding, full_matrices=False)[0][:, :RANK] for unfolding in unfoldings]
    factors, weights, _ = als(tensor, vectors, ["plain"] * 3, 0.0, sweeps=1)
    options = ("--rank", RANK, "--start", "nvecs", "--sweeps", 1)
    check_alike(bench, "nvecs", bench.fit(tensor, *options)[0], factors, weights)
    tensor = bench.tensor(planted_array(1, (13, 11, 9), RANK, noise=0.3, zeros=0.2))
    for more in (), ("--nonnegative",):
        words = (*options, *more, "--deterministic", "--threads")
        model, _ = bench.fit(tensor, *words, 1)
        budget = bench.commands.min_budget(tensor.container, *words, 2)
        small, _ = bench.fit(tensor, *words, 2, "--memory", budget)
        bench.same("nvecs in the least memory, other threads", small, model)
    bench.holds("nvecs, nonnegative", all(np.min(factor) >= 0 for factor in model.factors))


def checks(bench):
    check_fold_in(bench)
    check_leading_vectors(bench)
    tensor = bench.tensor(planted_array(1, (13, 11, 9), RANK, noise=0.3, zeros=0.2))
    start = start_of(tensor, 2)
    path = bench.start(start)
    for name, (options, kinds, ridge) in CASES.items():
        factors, weights, fits = als(tensor, start, kinds, ridge)
        model = bench.everywhere(name, tensor, *options, "--init", path, "--sweeps", SWEEPS, "--tolerance", 0,
                                 "--momentum", "off")
        bench.near(f"{name}, fits", model.history, fits, 1e-11)
        compare_models(bench, name, model, factors, weights, 1e-9)
        for mode, kind in enumerate(kinds):
            if kind != "plain":
                bench.holds(f"{name}: mode {mode} keeps to its constraint", constraint_holds(kind, model.factors[mode]))


def peer_checks(bench):
    """tensorly updates by other numbers of inner steps, so the fits agree where both have come to rest."""
    import pyttb
    import tensorly
    from tensorly.decomposition import non_negative_parafac_hals

    tensor = bench.tensor(planted_array(1, (13, 11, 9), RANK, noise=0.3, zeros=0.2))
    start = start_of(tensor, 2)
    model, _ = bench.fit(tensor, "--nonnegative", "--init", bench.start(start), "--sweeps", 3000, "--tolerance", 1e-12)
    theirs = non_negative_parafac_hals(tensorly.tensor(tensor.array), RANK, n_iter_max=3000, tol=1e-12,
                                       init=(np.ones(RANK), [np.array(factor) for factor in start]))
    residual = np.linalg.norm(tensor.array - tensorly.cp_to_tensor(theirs))
    fit = 1 - residual / np.sqrt(tensor.norm_squared)
    bench.near("nonnegative beside tensorly's HALS, fit", model.history[-1], fit, 1e-3)
    tensor = falling_tensor(bench)
    model, _ = bench.fit(tensor, "--rank", RANK, "--start", "nvecs", "--sweeps", 1)
    theirs, _, _ = pyttb.cp_als(pyttb.tensor(tensor.array), RANK, init="nvecs", maxiters=1, printitn=0)
    check_alike(bench, "nvecs beside pyttb's", model, theirs.factor_matrices, theirs.weights)
