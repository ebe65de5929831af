"""Core consistency, starts and match scores of blco-cpd beside dense numpy. See check_methods.py."""
import itertools
import json

import numpy as np

from method_oracles import dense_model, planted_array, read_model


def core_consistency(array, factors, weights):
    """By numpy's own pseudo-inverses, and the whole core; all columns of a component have the same norm."""
    norms = np.array([np.linalg.norm(factor, axis=0) for factor in factors])
    share = np.abs(weights * np.prod(norms, axis=0)) ** (1 / array.ndim)
    factors = [factor / norm * share for factor, norm in zip(factors, norms)]
    factors[-1] = factors[-1] * np.sign(weights)
    core = array
    for mode, factor in enumerate(factors):
        core = np.moveaxis(np.tensordot(np.linalg.pinv(factor, rcond=1e-13), core, axes=(1, mode)), 0, mode)
    rank = factors[0].shape[1]
    target = np.zeros_like(core)
    target[(np.arange(rank),) * array.ndim] = 1
    return 100 * (1 - np.sum((core - target) ** 2) / rank)


def match_score(first, second):
    """The best of all pairings (Acar, Dunlavy, Kolda & Morup 2011, section 5.1)."""
    weights = np.abs(first.weights[:, None] - second.weights) / np.maximum(first.weights[:, None], second.weights)
    scores = 1 - weights
    for a, b in zip(first.factors, second.factors):
        scores = scores * np.abs(a.T @ b) / np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    rank = len(scores)
    return max(sum(scores[range(rank), pairing]) for pairing in itertools.permutations(range(rank))) / rank


def events(bench, tensor, *options):
    output, _ = bench.commands.run("blco-cpd", tensor.container, *options, "--devices", "cpu", "--json")
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {kind: [line for line in lines if line["event"] == kind] for kind in ("start", "rank", "result")}


def check_table(bench, name, tensor, tolerance, *options):
    pattern = str(bench.folder / "rank-{rank}.h5")
    for row in events(bench, tensor, *options, "--threads", 1, "-o", pattern)["rank"]:
        model = read_model(row["output"])
        what = f"{name}, rank {row['rank']}"
        residual = np.linalg.norm(tensor.array - dense_model(model.factors, model.weights))
        bench.near(f"{what}: fit", row["fit"], 1 - residual / np.sqrt(tensor.norm_squared), 1e-6)
        expected = core_consistency(tensor.array, model.factors, model.weights)
        bench.near(f"{what}: core consistency {expected:.4f}", row["core_consistency"], expected, tolerance)


def check_cores(bench):
    noisy = bench.tensor(planted_array(3, (14, 12, 10), 3, noise=0.2, zeros=0.1))
    check_table(bench, "three modes", noisy, 1e-7, "--rank", "1,2,3,5,9", "--sweeps", 30)
    check_table(bench, "f32", noisy, 1e-7, "--rank", "2,3", "--sweeps", 30, "--precision", "f32")
    check_table(bench, "simplex", noisy, 1e-7, "--rank", "2,3", "--sweeps", 30, "--simplex=0", "--nonnegative=1,2")
    four = bench.tensor(planted_array(4, (9, 5, 8, 6), 2, noise=0.2, zeros=0.3))
    check_table(bench, "four modes", four, 1e-7, "--rank", "2,5", "--sweeps", 30)
    budget = bench.commands.min_budget(noisy.container, "--rank", 9)
    check_table(bench, "least memory", noisy, 1e-7, "--rank", "3,9", "--sweeps", 10, "--memory", budget + (64 << 10))


def check_exact(bench):
    """As many components as there are: 100. More: less."""
    exact = bench.tensor(planted_array(5, (12, 11, 10), 3))
    rows = events(bench, exact, "--rank", "3,5", "--sweeps", 1000, "--tolerance", 1e-12)["rank"]
    bench.holds(f"rank 3 of 3: core consistency {rows[0]['core_consistency']:.6f} is 100",
                abs(rows[0]["core_consistency"] - 100) < 0.01)
    bench.holds(f"rank 5 of 3: core consistency {rows[1]['core_consistency']:.1f} is below 50",
                rows[1]["core_consistency"] < 50)


def check_starts(bench):
    tensor = bench.tensor(planted_array(6, (12, 9, 7), 5, noise=1.0, zeros=0.5))
    options = ["--rank", 4, "--threads", 1, "--devices", "cpu", "--sweeps", 40]
    singles = []
    for seed in range(7, 12):
        path = bench.folder / f"seed{seed}.h5"
        bench.commands.run("blco-cpd", tensor.container, *options, "--seed", seed, "-o", path)
        singles.append(read_model(path))
    found = events(bench, tensor, "--rank", 4, "--threads", 1, "--sweeps", 40, "--seed", 7, "--starts", 5,
                   "-o", bench.folder / "best.h5")
    fits = [model.history[-1] for model in singles]
    bench.holds("each start has the fit of its seed", [start["fit"] for start in found["start"]] == fits)
    best = int(np.argmax(fits))
    bench.same("the best of five starts is its seed's model", read_model(bench.folder / "best.h5"), singles[best])
    others = [i for i in range(5) if i != best]
    scores = [match_score(singles[best], singles[i]) for i in others]
    row = found["rank"][0]
    bench.near("match scores", [row["matches"][i]["match"] for i in others], scores, 1e-9)
    bench.near("match scores of components", [np.mean(row["matches"][i]["components"]) for i in others], scores, 1e-9)
    bench.holds("starts that reach the best", row["reaching"] == sum(fit >= fits[best] - 1e-3 for fit in fits))
    bench.near("lowest and mean match", [row["lowest_match"], row["mean_match"]], [min(scores), np.mean(scores)], 1e-9)


def checks(bench):
    check_cores(bench)
    check_exact(bench)
    check_starts(bench)
