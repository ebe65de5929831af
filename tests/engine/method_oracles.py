"""What the comparisons of methods with numpy, pyttb and tensorly share: small tensors, model files, dense products.

A module beside check_methods.py has `checks(bench)`, which needs numpy alone, and may have `peer_checks(bench)`, which
may import pyttb and tensorly. Both say what they find by `bench.near`, `bench.same` and `bench.holds`.
"""
import itertools
import re
import string

import h5py
import numpy as np


class SmallTensor:
    """A dense array, the list of its nonzeros, and a container of them."""

    def __init__(self, container, array):
        self.container = container
        self.array = array
        self.shape = array.shape
        self.coordinates = np.nonzero(array)  # a list per mode, in row-major order
        self.values = array[self.coordinates]
        self.norm_squared = float(self.values @ self.values)


class Bench:
    """The programs, a folder, that of real tensors (or of peers), and what has failed."""

    def __init__(self, commands, folder, data):
        self.data = data
        self.commands = commands
        self.folder = folder
        self.failures = 0
        self.numbers = itertools.count()

    def report(self, good, what):
        self.failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)

    def near(self, what, actual, expected, tolerance):
        """The largest difference, relative to the largest expected magnitude, is at most the tolerance."""
        actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
        if actual.shape != expected.shape:
            return self.report(False, f"{what}: shape {actual.shape} instead of {expected.shape}")
        scale = max(np.max(np.abs(expected), initial=0.0), np.finfo(float).tiny)
        error = np.max(np.abs(actual - expected), initial=0.0) / scale
        return self.report(bool(error <= tolerance), f"{what}: differs by {error:.1e}, allowed {tolerance:.0e}")

    def same(self, what, actual, expected):
        """Every bit of two models is the same."""
        good = actual.weights.tobytes() == expected.weights.tobytes() and all(
            a.tobytes() == b.tobytes() for a, b in zip(actual.factors, expected.factors))
        self.report(good, f"{what}: the same bits")

    def holds(self, what, good):
        self.report(bool(good), what)

    def tensor(self, array, chunk_nnz=256, zeros=False):
        """Ingests a dense array, with or without its zeros; small chunks, so that a small tensor has many."""
        name = self.folder / f"tensor{next(self.numbers)}"
        coordinates = np.nonzero(np.ones_like(array) if zeros else array)
        with open(f"{name}.tns", "w", encoding="ascii") as file:
            for place in zip(*coordinates):
                file.write(" ".join(str(i + 1) for i in place) + f" {float(array[place])!r}\n")
        shape = "x".join(map(str, array.shape))
        self.commands.run("blco-ingest", f"{name}.tns", "-o", f"{name}.blco", "--chunk-nnz", chunk_nnz, "--shape",
                          shape, "--quiet")
        return SmallTensor(f"{name}.blco", np.asarray(array, dtype=float))

    def fit(self, tensor, *options):
        """The model of a fit, and what blco-cpd printed."""
        path = self.folder / f"model{next(self.numbers)}.h5"
        output, _ = self.commands.run("blco-cpd", tensor.container, *options, "--devices", "cpu", "-o", path)
        return read_model(path), output

    def start(self, factors, weights=None):
        """A model file to begin from, for --init."""
        path = self.folder / f"start{next(self.numbers)}.h5"
        write_model(path, factors, weights)
        return path

    def everywhere(self, what, tensor, *options):
        """The model of one thread in core, after checks that memory and threads change nothing but rounding: one thread
        out of core gives the same bits; two threads the same numbers. Returns the model."""
        one, _ = self.fit(tensor, *options, "--threads", 1)
        budget = self.commands.min_budget(tensor.container, *options, "--threads", 1)
        small, output = self.fit(tensor, *options, "--threads", 1, "--memory", budget)
        self.holds(f"{what}, least memory: chunks are streamed", streamed_chunks(output) > 0)
        self.same(f"{what}, least memory", small, one)
        two, _ = self.fit(tensor, *options, "--threads", 2)
        error = max(np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in zip(two.factors, one.factors))
        self.near(f"{what}, two threads, weights", two.weights, one.weights, 1e-9)
        self.holds(f"{what}, two threads: factors differ by {error:.1e}", error <= 1e-9)
        return one


class Model:
    def __init__(self, file):
        self.weights = file["weights"][:]
        self.factors = [file[f"factors/{mode}"][:] for mode in range(len(file["factors"]))]
        self.history = file["fit_history" if "fit_history" in file else "objective_history"][:]
        if not len(self.history) and "objective_history" in file:
            self.history = file["objective_history"][:]
        self.attributes = dict(file.attrs)

    def scaled(self):
        """Factors with the weights in the first, components sorted by what all weigh: comparable between programs."""
        return arranged(self.factors, self.weights)


def read_model(path):
    with h5py.File(path) as file:
        return Model(file)


def write_model(path, factors, weights=None):
    """What io/container/model_file.hpp asks of a model that somebody else writes."""
    rank = factors[0].shape[1]
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "blco-model"
        file.attrs["version"] = np.uint32(1)
        file.attrs["rank"] = np.uint64(rank)
        file.attrs["shape"] = np.array([len(factor) for factor in factors], dtype=np.uint64)
        file["weights"] = np.ones(rank) if weights is None else weights
        for mode, factor in enumerate(factors):
            file[f"factors/{mode}"] = np.ascontiguousarray(factor, dtype=float)


def streamed_chunks(output):
    return int(re.search(r"([\d,]+) streamed", output).group(1).replace(",", ""))


def rank_one_terms(factors, weights):
    """R arrays of the tensor's shape: the components."""
    rank = len(weights)
    for r in range(rank):
        term = np.array(weights[r])
        for factor in factors:
            term = np.multiply.outer(term, factor[:, r])
        yield term


def dense_model(factors, weights=None):
    """The sum of the components, as an array."""
    weights = np.ones(factors[0].shape[1]) if weights is None else weights
    return sum(rank_one_terms(factors, weights))


def dense_mttkrp(array, factors, mode):
    """sum over all entries of x times the product of the other factors' rows: I_n x R."""
    letters = string.ascii_lowercase[:array.ndim]
    others = [n for n in range(array.ndim) if n != mode]
    equation = letters + "," + ",".join(letters[n] + "r" for n in others) + f"->{letters[mode]}r"
    return np.einsum(equation, array, *[factors[n] for n in others], optimize=True)


def gram_product(factors, left_out=-1):
    """Elementwise product of the Gram matrices."""
    product = np.ones((factors[0].shape[1],) * 2)
    for mode, factor in enumerate(factors):
        if mode != left_out:
            product = product * (factor.T @ factor)
    return product


def arranged(factors, weights):
    """Unit columns, their norms in the weights, by falling weight; the entry of largest magnitude of each column is
    positive, and the weights have the sign that is left. Models are equal if these are."""
    factors, weights = [np.array(factor) for factor in factors], np.array(weights)
    for factor in factors:
        norms = np.linalg.norm(factor, axis=0)
        signs = np.sign(factor[np.argmax(np.abs(factor), axis=0), range(factor.shape[1])])
        factor /= np.where(norms > 0, norms, 1) * np.where(signs != 0, signs, 1)
        weights *= norms * np.where(signs != 0, signs, 1)
    order = np.argsort(-np.abs(weights), kind="stable")
    return [factor[:, order] for factor in factors], weights[order]


def compare_models(bench, what, model, factors, weights, tolerance):
    """A fitted model beside factors and weights from elsewhere, whatever the order of their components."""
    own, own_weights = model.scaled()
    others, other_weights = arranged(factors, weights)
    bench.near(f"{what}, weights", own_weights, other_weights, tolerance)
    for mode, (actual, expected) in enumerate(zip(own, others)):
        bench.near(f"{what}, factor {mode}", actual, expected, tolerance)


def planted_array(seed, shape, rank, noise=0.0, zeros=0.0):
    """Nonnegative components plus noise, some entries zero; positive in the other entries."""
    random = np.random.default_rng(seed)
    array = dense_model([random.random((length, rank)) for length in shape])
    array = array * (1 + noise * random.random(shape))
    return np.where(random.random(shape) < zeros, 0.0, array)
