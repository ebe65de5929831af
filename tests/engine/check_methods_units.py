"""The unit of the values, and densities next to nothing. See check_methods.py.

The same tensor times a power of two is the same to the bit once it is divided by a power of two near its root mean
square, so all that comes out must be the same to the bit, too, in the unit of the values.
"""
import json
import re

import h5py
import numpy as np

from method_oracles import SmallTensor, dense_model

METHODS = {
    "als": [],
    "als, ridge": ["--ridge", 0.1],
    "als, nonnegative": ["--nonnegative"],
    "als, l1": ["--l1", 0.1],
    "als, box": ["--box", "0:0.8"],
    "als, simplex": ["--simplex", "0"],
    "complete": ["--method", "complete"],
    "complete, ridge": ["--method", "complete", "--ridge", 0.1],
    "complete, nonnegative": ["--method", "complete", "--nonnegative"],
    "apr": ["--method", "apr"],
    "gaussian": ["--method", "gcp", "--loss", "gaussian"],
    "poisson": ["--method", "gcp", "--loss", "poisson"],
    "gamma": ["--method", "gcp", "--loss", "gamma"],
    "rayleigh": ["--method", "gcp", "--loss", "rayleigh"],
    "beta": ["--method", "gcp", "--loss", "beta:1.5"],
    "huber": ["--method", "gcp", "--loss", "huber:{unit}"],
}
# Powers of the unit in the objective; gamma's and rayleigh's change by a constant, poisson's by one beside.
DEGREES = {"huber": 2, "beta": 1.5}


def same_in_all_units(bench):
    source = np.random.default_rng(1)
    factors = [source.uniform(0.2, 1, (length, 2)) for length in (12, 9, 7)]
    array = np.einsum("ir,jr,kr->ijk", *factors) * source.uniform(0.9, 1.1, (12, 9, 7)) * (
        source.uniform(size=(12, 9, 7)) < 0.4)
    units = [0, -200, -33, 40, 66]
    tensors = {unit: bench.tensor(array * 2.0**unit) for unit in units}
    for name, options in METHODS.items():
        for precision in ("f64", "f32") if name != "complete" else ("f64", "f32", "mixed"):
            models = {}
            for unit in units:
                given = [str(option).replace("{unit}", repr(0.1 * 2.0**unit)) for option in options]
                models[unit], output = bench.fit(tensors[unit], "--rank", 2, "--sweeps", 6, "--threads", 1,
                                                 "--precision", precision, *given)
                shares = re.findall(r"explains ([0-9.]+)%", output)
                bench.holds(f"{name}, {precision}, unit 2^{unit}: no share above 100%",
                            all(float(share) <= 100 for share in shares))
            for unit in units[1:]:
                scaled = models[unit]
                scaled.weights = scaled.weights * 2.0**-unit
                bench.same(f"{name}, {precision}, unit 2^{unit}", scaled, models[0])
                if name.split(",")[0] in ("als", "complete", "gaussian", *DEGREES):
                    degree = 0 if name.startswith("als") else DEGREES.get(name, 2)
                    bench.near(f"{name}, {precision}, unit 2^{unit}: history", scaled.history * 2.0**(-degree * unit),
                               models[0].history, 1e-12)


def held_out_in_all_units(bench):
    source = np.random.default_rng(2)
    array = source.uniform(0.5, 1, (8, 7, 6)) * (source.uniform(size=(8, 7, 6)) < 0.5)
    errors = []
    for unit in (0, 66):
        tensor, held_out = (bench.tensor(part * 2.0**unit) for part in (array, np.where(array == 0, 0.7, 0)))
        _, output = bench.fit(tensor, "--method", "complete", "--rank", 2, "--ridge", 0.1, "--sweeps", 5, "--validate",
                              held_out.container, "--precision", "f32", "--threads", 1, "--json")
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        errors.append([line["validation_error"] for line in lines if "validation_error" in line])
    bench.holds("held-out errors are told", len(errors[0]) > 0)
    bench.near("held-out errors in another unit", np.array(errors[1]) * 2.0**-66, errors[0], 1e-14)


def resumed_in_their_unit(bench):
    """A checkpoint of an older version does not say in which unit its state is: in that of the values."""
    source = np.random.default_rng(3)
    tensor = bench.tensor(source.poisson(0.5, (9, 8, 7)) * 2.0**40)
    for name, options in (("complete", ["--method", "complete", "--ridge", 0.1]), ("apr", ["--method", "apr"])):
        given = [*options, "--precision", "f32", "--threads", 1, "--tolerance", 0]
        whole, _ = bench.fit(tensor, "--rank", 2, "--sweeps", 6, *given)
        checkpoint = bench.folder / f"{name}.ckpt"
        bench.fit(tensor, "--rank", 2, "--sweeps", 3, "--checkpoint", checkpoint, *given)
        resumed, _ = bench.fit(tensor, "--sweeps", 6, "--resume", checkpoint, *given)
        bench.same(f"{name}, resumed", resumed, whole)
        bench.near(f"{name}, resumed: history", resumed.history, whole.history, 0)
    counts = bench.tensor(source.poisson(3, (9, 8, 7)).astype(float))
    given = ["--method", "apr", "--threads", 1, "--tolerance", 0]
    whole, _ = bench.fit(counts, "--rank", 2, "--sweeps", 6, *given)
    checkpoint = bench.folder / "old.ckpt"
    bench.fit(counts, "--rank", 2, "--sweeps", 3, "--checkpoint", checkpoint, *given)
    with h5py.File(checkpoint, "r+") as file:
        bench.holds("a checkpoint says its unit", file["state"].attrs["value_exponent"] == 2)
        del file["state"].attrs["value_exponent"]
    old, _ = bench.fit(counts, "--sweeps", 6, "--resume", checkpoint, *given)
    bench.near("apr, resumed without a unit", old.history, whole.history, 1e-9)


def no_worse_than_the_start(bench):
    """One sweep of ADMM from an exact model, or of CP-APR with kappa, may end beside it."""
    source = np.random.default_rng(4)
    factors = [source.dirichlet(np.ones(2), 9), *(source.uniform(0, 1, (length, 2)) for length in (8, 7))]
    factors[1][source.uniform(size=(8, 2)) < 0.3] = 0
    norms = [1.0, *(np.linalg.norm(factor, axis=0) for factor in factors[1:])]
    weights = 100 * norms[1] * norms[2]
    start = bench.start([factor / norm for factor, norm in zip(factors, norms)], weights)
    tensor = bench.tensor(100 * np.einsum("ir,jr,kr->ijk", *factors))
    for name, options in (("simplex", ["--simplex", "0"]), ("box", ["--box", "0:1:0"]),
                          ("apr", ["--method", "apr", "--tolerance", 0, "--kappa", 0.5]),
                          ("complete", ["--method", "complete"]),
                          ("poisson", ["--method", "gcp", "--loss", "poisson"])):
        model, _ = bench.fit(tensor, "--init", start, "--sweeps", 1, "--threads", 1, *options)
        error = np.linalg.norm(dense_model([model.factors[0] * model.weights, *model.factors[1:]]) - tensor.array)
        bench.holds(f"{name} from the exact model: an error of {error:.1e}",
                    error <= 1e-5 * np.linalg.norm(tensor.array))


def poisson_objective(model, coordinates, values, rank):
    """Over all cells, in extended precision."""
    rows = [factor[at].astype(np.longdouble) for factor, at in zip(model.factors, coordinates)]
    weights = model.weights.astype(np.longdouble)
    sums = np.ones(rank, np.longdouble)
    products = np.ones((len(values), rank), np.longdouble)
    for factor, of_entries in zip(model.factors, rows):
        sums *= factor.astype(np.longdouble).sum(axis=0)
        products *= of_entries
    entries = products @ weights
    return float(weights @ sums - np.sum(values * np.log(entries))), entries


def poisson_of_low_densities(bench):
    for order, length, nnz in ((3, 100, 3), (3, 20000, 3), (4, 30000, 3), (8, 6000, 3), (16, 75, 3), (6, 60000, 300)):
        source = np.random.default_rng(order)
        coordinates = [source.permutation(length)[:nnz] for _ in range(order)]
        values = np.array([5.0, 3.0, 2.0]) if nnz == 3 else source.integers(1, 6, nnz).astype(float)
        name = bench.folder / f"sparse{order}-{length}"
        with open(f"{name}.tns", "w", encoding="ascii") as file:
            for place, value in zip(zip(*coordinates), values):
                file.write(" ".join(str(i + 1) for i in place) + f" {value}\n")
        bench.commands.run("blco-ingest", f"{name}.tns", "-o", f"{name}.blco", "--shape",
                           "x".join([str(length)] * order), "--quiet")
        tensor = SmallTensor.__new__(SmallTensor)
        tensor.container = f"{name}.blco"
        what = f"poisson, {nnz} of {length}^{order} cells"
        for start in ("apr", "gcp"):  # from seeds that give each count a component
            options = ["--method", "apr"] if start == "apr" else ["--method", "gcp", "--loss", "poisson"]
            model, output = bench.fit(tensor, "--rank", 3, "--threads", 1, "--seed", int(order == 4), *options)
            expected, entries = poisson_objective(model, coordinates, values, 3)
            bench.near(f"{what}, {start}: objective", model.history[-1], expected, 1e-9)
            share = float(re.findall(r"explains ([0-9.]+)%", output)[-1])
            bench.holds(f"{what}, {start}: explains {share}%", share <= 100)
            if nnz == 3:
                bench.near(f"{what}, {start}: its model", entries.astype(float), values, 1e-2)
            if start == "apr":
                begin = bench.start(model.factors, model.weights)
                again, _ = bench.fit(tensor, "--threads", 1, "--init", begin, "--method", "gcp", "--loss", "poisson")
                bench.holds(f"{what}: no worse than the model that it starts from",
                            poisson_objective(again, coordinates, values, 3)[0] <= expected + 1e-9 * abs(expected))


def checks(bench):
    same_in_all_units(bench)
    held_out_in_all_units(bench)
    resumed_in_their_unit(bench)
    no_worse_than_the_start(bench)
    poisson_of_low_densities(bench)
