"""Three sweeps from given factors equal an independent ALS in numpy, in core and far out of core, at ranks from 1 to 33.

usage: check_against_numpy.py BIN_FOLDER DATA_FOLDER [TENSOR...]
"""
import gzip
import pathlib
import re
import sys
import tempfile

from blco_commands import Commands, skip

try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")

SWEEPS = 3
# Every rank with short and with long modes; all four of all tensors would take minutes, in numpy.
RANKS = {"nips12": (1, 16), "darpa1998-3d": (5, 33), "darpa1998-5d": (1, 16), "icews18": (5, 16), "uber-head": (1, 33),
         "unhcr": (1, 5, 16, 33)}


EXTENDED = np.longdouble  # numpy's own sums in double are further from the truth than what is checked here


class Mttkrp:
    """By a sum over each row's nonzeros, which a sort by that mode's coordinates makes neighbours."""

    def __init__(self, coordinates, values, shape):
        self.shape = shape
        self.by_mode = []
        for mode in range(len(shape)):
            order = np.argsort(coordinates[mode], kind="stable")
            sorted_rows = coordinates[mode][order]
            starts = np.flatnonzero(np.r_[True, sorted_rows[1:] != sorted_rows[:-1]])
            self.by_mode.append((order, starts, sorted_rows[starts]))
        self.coordinates = coordinates
        self.values = values

    def __call__(self, factors, mode):
        order, starts, rows = self.by_mode[mode]
        rank = factors[0].shape[1]
        output = np.zeros((self.shape[mode], rank), dtype=EXTENDED)
        factors = [factor.astype(np.float64) for factor in factors]
        for column in range(rank):
            terms = self.values[order]
            for other, factor in enumerate(factors):
                if other != mode:
                    terms = terms * factor[:, column][self.coordinates[other][order]]
            output[rows, column] = np.add.reduceat(terms, starts, dtype=EXTENDED)
        return output


def solve(system, right):
    """By LU in double, refined with residuals in extended precision."""
    plain = system.astype(np.float64)
    solution = np.zeros_like(right)
    for _ in range(4):
        residual = right - system @ solution
        solution = solution + np.linalg.solve(plain, residual.astype(np.float64))
    return solution


def als(mttkrp, shape, initial, norm_squared):
    factors = [factor.astype(EXTENDED) for factor in initial]
    rank = factors[0].shape[1]
    fits, worst_condition = [], 1.0
    for _ in range(SWEEPS):
        for mode in range(len(shape)):
            system = np.ones((rank, rank), dtype=EXTENDED)
            for other, factor in enumerate(factors):
                if other != mode:
                    system = system * (factor.T @ factor)
            worst_condition = max(worst_condition, np.linalg.cond(system.astype(np.float64)))
            output = mttkrp(factors, mode)
            rows = solve(system, output.T).T
            weights = np.sqrt(np.sum(rows * rows, axis=0))
            inner = np.sum(rows * output)
            factors[mode] = rows / weights
        grams = np.ones((rank, rank), dtype=EXTENDED)
        for factor in factors:
            grams = grams * (factor.T @ factor)
        residual = norm_squared + weights @ grams @ weights - 2 * inner
        fits.append(1 - np.sqrt(max(residual, 0)) / np.sqrt(norm_squared))
    return factors, weights, fits, worst_condition


def arrange(factors, weights):
    """Components by falling weight, and the signs that the model's documentation promises."""
    order = np.argsort(-weights, kind="stable")
    factors, weights = [factor[:, order] for factor in factors], weights[order]
    peaks = np.array([factor[np.argmax(np.abs(factor), axis=0), range(len(weights))] for factor in factors])
    negative = peaks < 0
    shares = peaks ** 2 / np.array([np.sum(factor ** 2, axis=0) for factor in factors])
    for component in np.flatnonzero(negative.sum(axis=0) % 2 == 1):
        negative[np.argmin(shares[:, component]), component] ^= True
    return [np.where(flip, -factor, factor) for flip, factor in zip(negative, factors)], weights


def read_tensor(path):
    with gzip.open(path) as file:
        table = np.loadtxt(file, dtype=np.float64)
    coordinates = [column.astype(np.int64) - 1 for column in table[:, :-1].T]
    return coordinates, np.ascontiguousarray(table[:, -1]), [int(c.max()) + 1 for c in coordinates]


def write_initial(path, factors, shape):
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "blco-model"
        file.attrs["version"] = np.uint32(1)
        file.attrs["rank"] = np.uint64(factors[0].shape[1])
        file.attrs["shape"] = np.array(shape, dtype=np.uint64)
        file["weights"] = np.ones(factors[0].shape[1])
        for mode, factor in enumerate(factors):
            file[f"factors/{mode}"] = factor


def check(commands, folder, name, container, mttkrp, shape, norm_squared, rank):
    random = np.random.default_rng(rank)
    initial = [random.random((length, rank)) for length in shape]
    write_initial(folder / "init.h5", initial, shape)
    factors, weights, fits, condition = als(mttkrp, shape, initial, norm_squared)
    factors, weights = arrange(factors, weights)
    tolerance = max(1e-10, 1e-14 * condition)
    fixed = ["--rank", rank, "--init", folder / "init.h5", "--sweeps", SWEEPS, "--tolerance", 0, "--momentum", "off"]
    budgets = {"in core": [], "out of core": ["--memory", commands.min_budget(container, *fixed)]}
    failures = 0
    for place, budget in budgets.items():
        output, _ = commands.run("blco-cpd", container, *fixed, *budget, "-o", folder / "model.h5")
        streamed = int(re.search(r"([\d,]+) streamed", output).group(1).replace(",", ""))
        with h5py.File(folder / "model.h5") as model:
            fit_error = np.max(np.abs(model["fit_history"][:] - fits))
            weight_error = np.max(np.abs(model["weights"][:] - weights) / weights)
            factor_error = np.max([np.max(np.abs(model[f"factors/{m}"][:] - f)) for m, f in enumerate(factors)])
        good = fit_error <= 1e-10 and weight_error <= tolerance and factor_error <= tolerance
        good = good and (streamed > 0) == (place == "out of core")
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {name:13} rank {rank:2} {place:11} ({streamed:3} chunks streamed): fit {fit_error:.1e},"
              f" weights {weight_error:.1e}, factors {factor_error:.1e}, allowed {tolerance:.1e}")
    return failures


def main():
    commands, data = Commands(sys.argv[1]), pathlib.Path(sys.argv[2])
    if not data.is_dir():
        skip(f"no real tensors at {data}")
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in sys.argv[3:] or RANKS:
            container = folder / "tensor.blco"
            commands.run("blco-ingest", data / f"{name}.tns.gz", "-o", container, "--chunk-nnz", 8192)
            coordinates, values, shape = read_tensor(data / f"{name}.tns.gz")
            mttkrp = Mttkrp(coordinates, values, shape)
            for rank in RANKS[name]:
                failures += check(commands, folder, name, container, mttkrp, shape, float(values @ values), rank)
    sys.exit(f"{failures} comparisons failed" if failures else 0)


main()
