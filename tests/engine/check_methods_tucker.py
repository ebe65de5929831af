"""blco-tucker beside HOOI and HOQRI in numpy, from the same matrices, and beside pyttb. See check_methods.py."""
import csv
import json
import re

import h5py
import numpy as np

from method_oracles import SmallTensor, planted_array, streamed_chunks


class TuckerModel:
    def __init__(self, path):
        with h5py.File(path) as file:
            self.core = file["core"][:]
            self.factors = [file[f"factors/{mode}"][:] for mode in range(self.core.ndim)]
            self.history = file["fit_history"][:]

    def dense(self):
        return multiply(self.core, self.factors)


def multiply(array, matrices, leave_out=None):
    """The product with a matrix in each mode but one."""
    for mode, matrix in enumerate(matrices):
        if mode != leave_out:
            array = np.moveaxis(np.tensordot(matrix, array, axes=(1, mode)), 0, mode)
    return array


def unfold(array, mode):
    return np.moveaxis(array, mode, 0).reshape(array.shape[mode], -1)


def transposed(matrices):
    return [matrix.T for matrix in matrices]


def hooi(array, factors, sweeps):
    """By the singular value decomposition of each unfolding."""
    factors = list(factors)
    for _ in range(sweeps):
        for mode, factor in enumerate(factors):
            product = unfold(multiply(array, transposed(factors), mode), mode)
            factors[mode] = np.linalg.svd(product, full_matrices=False)[0][:, :factor.shape[1]]
    return factors


def hoqri(array, factors, sweeps):
    """Sun & Huang 2022, algorithm 1, with the core of the newest matrices in each step."""
    factors = list(factors)
    for _ in range(sweeps):
        for mode in range(array.ndim):
            core = unfold(multiply(array, transposed(factors)), mode)
            product = unfold(multiply(array, transposed(factors), mode), mode)
            factors[mode] = np.linalg.qr(product @ core.T)[0]
    return factors


def fit_of(array, factors):
    residual = np.linalg.norm(array - multiply(multiply(array, transposed(factors)), factors))
    return 1 - residual / np.linalg.norm(array)


def fit(bench, tensor, *options):
    path = bench.folder / f"tucker{next(bench.numbers)}.h5"
    output, _ = bench.commands.run("blco-tucker", tensor.container, *options, "--devices", "cpu", "-o", path)
    return TuckerModel(path), output, path


def compare_spaces(bench, what, actual, expected, tolerance):
    for mode, (a, b) in enumerate(zip(actual, expected)):
        bench.near(f"{what}: space of mode {mode}", a @ a.T, b @ b.T, tolerance)


def check_form(bench, what, tensor, model, rises=True):
    """Orthonormal columns, an all-orthogonal core in order, and the fit that the file tells."""
    for mode, factor in enumerate(model.factors):
        bench.near(f"{what}: columns of mode {mode}", factor.T @ factor, np.eye(factor.shape[1]), 1e-13)
        slices = unfold(model.core, mode)
        products = slices @ slices.T
        squares = np.diag(products)
        bench.near(f"{what}: slices of mode {mode}", products, np.diag(squares), 1e-12)
        bench.holds(f"{what}: order of mode {mode}", np.all(np.diff(squares) <= 1e-12 * squares[0]))
        largest = factor[np.argmax(np.abs(factor), axis=0), range(factor.shape[1])]
        bench.holds(f"{what}: signs of mode {mode}", np.all(largest > 0))
    bench.near(f"{what}: core", model.core, multiply(tensor.array, transposed(model.factors)), 1e-11)
    residual = np.linalg.norm(tensor.array - model.dense()) / np.linalg.norm(tensor.array)
    bench.near(f"{what}: fit", model.history[-1], 1 - residual, 1e-7)
    bench.holds(f"{what}: no sweep lowers the fit", not rises or np.all(np.diff(model.history) >= -1e-12))


def check_sweeps(bench, name, tensor, ranks):
    for method, oracle in (("hooi", hooi), ("hoqri", hoqri)):
        what = f"tucker {name} by {method}"
        options = ("--ranks", ranks, "--method", method, "--tolerance", 0, "--threads", 1)
        first, _, path = fit(bench, tensor, *options, "--sweeps", 1)
        check_form(bench, f"{what}, one sweep", tensor, first)
        later, _, _ = fit(bench, tensor, *options, "--sweeps", 10, "--init", path)
        expected = oracle(tensor.array, first.factors, 10)
        check_form(bench, what, tensor, later)
        compare_spaces(bench, what, later.factors, expected, 1e-8)
        bench.near(f"{what}: fit beside numpy", later.history[-1], fit_of(tensor.array, expected), 1e-8)


def least_memory(bench, tensor, *options):
    process = bench.commands.start("blco-tucker", tensor.container, *options, "--memory", "1K", "-o", "none")
    said, _ = process.communicate()
    least = re.search(r"give at least --memory (\w+)", said)
    bench.holds("tucker names its least memory", process.returncode == 5 and least)
    return least.group(1)


def check_budgets(bench):
    """A small budget streams chunks, and takes slabs of fewer columns, which round in other ways unless they may not."""
    random = np.random.default_rng(5)
    array = np.where(random.random((60, 50, 40)) < 0.1, random.integers(1, 9, (60, 50, 40)), 0).astype(float)
    tensor = bench.tensor(array)
    for method in ("hooi", "hoqri"):
        options = ("--ranks", "8,6,8", "--method", method, "--sweeps", 3, "--threads", 1)
        ample, _, _ = fit(bench, tensor, *options)
        least = least_memory(bench, tensor, *options)
        small, output, _ = fit(bench, tensor, *options, "--memory", least)
        bench.holds(f"tucker by {method} in {least}: chunks are streamed", streamed_chunks(output) > 0)
        bench.near(f"tucker by {method} in {least}", small.core, ample.core, 1e-12)
        options += ("--deterministic",)
        ample, _, _ = fit(bench, tensor, *options)
        least = least_memory(bench, tensor, *options)
        for threads in (1, 2):
            small, _, _ = fit(bench, tensor, *options[:-3], "--deterministic", "--threads", threads, "--memory", "1GiB")
            same = small.core.tobytes() == ample.core.tobytes()
            bench.holds(f"tucker by {method}, deterministic, {threads} threads: the same bits", same)
        small, _, _ = fit(bench, tensor, *options, "--memory", least)
        bench.holds(f"tucker by {method}, deterministic, in {least}: the same bits",
                    small.core.tobytes() == ample.core.tobytes())


def check_out_of_core(bench):
    """A tensor of four times the budget gives the model of an ample one, bit for bit where sums have one order."""
    container = bench.folder / "large.blco"
    bench.commands.run("blco-gen", "--shape", "500x300x200", "--nnz", 8500000, "--noise", 1, "--chunk-nnz", 16384,
                       "--compression", "none", "-o", container)
    tensor = SmallTensor(container, np.ones((0,)))
    for method, order, tolerance in (("hooi", ("--deterministic",), 0), ("hoqri", (), 1e-12)):
        what = f"tucker by {method} of four times the budget"
        options = ("--ranks", "4,3,4", "--method", method, "--sweeps", 2, "--tolerance", 0, "--threads", 2, *order)
        ample, _, _ = fit(bench, tensor, *options)
        least = least_memory(bench, tensor, *options)
        small, output, _ = fit(bench, tensor, *options, "--memory", least)
        bench.holds(f"{what}: {least}", container.stat().st_size >= 4 * 1024 * int(least.removesuffix("KiB")))
        bench.holds(f"{what}: chunks are streamed", streamed_chunks(output) > 0)
        bench.near(what, small.core, ample.core, tolerance)
        compare_spaces(bench, what, small.factors, ample.factors, tolerance)


def check_stationary(bench):
    """Of a converged fit by HOQRI no mode's matrix has a better neighbour: the product that it comes from lies in the
    space of its columns."""
    tensor = bench.tensor(planted_array(18, (14, 12, 10, 7), 2, noise=0.3, zeros=0.2))
    model, _, _ = fit(bench, tensor, "--ranks", "2,3,2,3", "--method", "hoqri", "--tolerance", 0, "--sweeps", 2000)
    for mode, factor in enumerate(model.factors):
        unfolding = unfold(multiply(tensor.array, transposed(model.factors), mode), mode)
        product = unfolding @ unfold(model.core, mode).T
        beyond = np.linalg.norm(product - factor @ (factor.T @ product)) / np.linalg.norm(product)
        bench.holds(f"tucker by hoqri: stationary in mode {mode}, {beyond:.1e} beyond", beyond < 1e-7)


def check_reordered(bench):
    """Frequent indices first in the container: the same model, with the indices that were given."""
    random = np.random.default_rng(19)
    weights = [random.random(length) ** 3 for length in (30, 20, 25)]
    array = np.where(random.random((30, 20, 25)) < np.einsum("i,j,k->ijk", *weights), 1.0, 0.0)
    array *= random.integers(1, 9, array.shape)
    tensor = bench.tensor(array)
    container = tensor.container.replace(".blco", "-reordered.blco")
    bench.commands.run("blco-ingest", tensor.container.replace(".blco", ".tns"), "-o", container, "--shape", "30x20x25",
                       "--reorder", "frequency", "--chunk-nnz", 256)
    for method in ("hooi", "hoqri"):
        options = ("--ranks", "3,4,3", "--method", method, "--sweeps", 4, "--tolerance", 0)
        expected, _, _ = fit(bench, tensor, *options)
        model, _, _ = fit(bench, SmallTensor(container, array), *options)
        check_form(bench, f"tucker of a reordered tensor by {method}", tensor, model)
        bench.near(f"tucker of a reordered tensor by {method}", model.core, expected.core, 1e-9)


def check_small_values(bench):
    """A ratio of 1e-9 between the singular values of an unfolding: a Gram matrix of it would lose the smaller one."""
    random = np.random.default_rng(7)
    bases = [np.linalg.qr(random.standard_normal((length, 3)))[0] for length in (12, 10, 9)]
    core = np.zeros((3, 3, 3))
    core[range(3), range(3), range(3)] = (1, 1e-4, 1e-9)
    tensor = bench.tensor(multiply(core, bases))
    model, _, _ = fit(bench, tensor, "--ranks", 3, "--tolerance", 0, "--sweeps", 10)
    bench.near("tucker of small singular values: the smallest", model.core[2, 2, 2] / 1e-9, 1, 1e-4)
    for mode in range(3):
        alike = abs(model.factors[mode][:, 2] @ bases[mode][:, 2])
        bench.holds(f"tucker of small singular values: column of mode {mode}, {1 - alike:.1e} off", alike > 1 - 1e-6)


def check_programs(bench):
    """blco-export, blco-predict and blco-info --compare beside numpy, with labels and other ranks per mode."""
    random = np.random.default_rng(11)
    table = bench.folder / "visits.csv"
    cells = sorted({tuple(cell) for cell in random.integers(0, (14, 9, 6), (200, 3))})
    rows = [f"user{i},{j},place {k},{random.integers(1, 9)}" for i, j, k in cells]
    table.write_text("user,day,place,count\n" + "\n".join(rows) + "\n")
    container = bench.folder / "visits.blco"
    bench.commands.run("blco-ingest", table, "--modes", "user,day,place", "--value", "count", "-o", container)
    models = []
    for number, ranks in enumerate(("4,3,2", "3,5,2")):
        path = bench.folder / f"visits{number}.h5"
        bench.commands.run("blco-tucker", container, "--ranks", ranks, "--devices", "cpu", "-o", path)
        models.append((path, TuckerModel(path)))
    path, model = models[0]

    folder = bench.folder / "exported"
    bench.commands.run("blco-export", path, "-o", folder)
    bench.holds("tucker exported: core", np.array_equal(np.load(folder / "core.npy"), model.core))
    names = ("user", "day", "place")
    for mode, name in enumerate(names):
        exported = np.load(folder / f"mode{mode}_{name}.npy")
        bench.holds(f"tucker exported: mode {mode}", np.array_equal(exported, model.factors[mode]))
        with open(folder / f"mode{mode}_{name}.csv", newline="") as file:
            lines = list(csv.reader(file))
        bench.holds(f"tucker exported: head of mode {mode}",
                    lines[0] == [name] + [f"column_{r}" for r in range(model.factors[mode].shape[1])])
        numbers = np.array([[float(number) for number in line[1:]] for line in lines[1:]])
        bench.holds(f"tucker exported: table of mode {mode}", np.array_equal(numbers, model.factors[mode]))
    bench.commands.run("blco-export", path, "-o", bench.folder / "texts", "--format", "txt")
    bench.holds("tucker exported: core as text",
                np.array_equal(np.loadtxt(bench.folder / "texts/core.txt"), model.core.reshape(-1, 2)))

    labels = []
    for mode, name in enumerate(names):
        with open(folder / f"mode{mode}_{name}.csv", newline="") as file:
            labels.append({line[0]: row for row, line in enumerate(list(csv.reader(file))[1:])})
    dense = model.dense()
    for source in (container, table):
        output = bench.folder / "predicted.csv"
        options = ("--value", "count") if source == table else ()
        bench.commands.run("blco-predict", path, source, *options, "-o", output)
        with open(output, newline="") as file:
            predicted = list(csv.DictReader(file))
        expected = [dense[tuple(labels[mode][row[name]] for mode, name in enumerate(names))] for row in predicted]
        bench.holds(f"tucker predicted: entries of {source.name}", len(predicted) == len(cells))
        bench.near(f"tucker predicted: {source.name}", [float(row["model"]) for row in predicted], expected, 1e-13)

    for (first, one), (second, other) in (models, models[::-1], (models[0], models[0])):
        output, _ = bench.commands.run("blco-info", first, "--compare", second, "--json")
        modes = json.loads(output.splitlines()[-1])["modes"]
        for mode in range(3):
            cosines = np.linalg.svd(one.factors[mode].T @ other.factors[mode])[1]
            bench.near(f"tucker angles of {first.name} and {second.name}: cosines of mode {mode}",
                       np.cos(modes[mode]["angles"]), cosines, 1e-13)
            if first == second:
                bench.holds(f"tucker angles of equal spaces of mode {mode}", max(modes[mode]["angles"]) < 1e-14)


def check_errors(bench):
    """--error: no larger error than asked for, by numpy, and ranks no larger than those planted."""
    random = np.random.default_rng(17)
    for shape, ranks, starts in (((30, 25, 20), (3, 5, 2), (None, "2", "12,12,12")), ((9, 12, 7, 10), (2, 3, 2, 2), (None,))):
        bases = [np.linalg.qr(random.standard_normal((length, rank)))[0] for length, rank in zip(shape, ranks)]
        array = multiply(random.standard_normal(ranks), bases)
        noise = random.standard_normal(shape)
        tensor = bench.tensor(array + noise * 0.01 * np.linalg.norm(array) / np.linalg.norm(noise))
        for start, error in ((start, error) for start in starts for error in (0.02, 0.3)):
            options = ("--error", error, *(("--ranks", start) if start else ()))
            model, _, _ = fit(bench, tensor, *options)
            what = f"tucker of error {error} from {start}"
            found = np.linalg.norm(tensor.array - model.dense()) / np.linalg.norm(tensor.array)
            bench.holds(f"{what}: error {found:.4f}", found <= error * (1 + 1e-12))
            bench.holds(f"{what}: ranks {model.core.shape}", all(r <= p for r, p in zip(model.core.shape, ranks)))
            check_form(bench, what, tensor, model, rises=False)  # a cut lowers it


def check_starts(bench):
    """--starts: the best of the fits from single seeds, and how alike their spaces are, by numpy."""
    tensor = bench.tensor(planted_array(20, (14, 12, 10), 3, noise=1.0, zeros=0.5))
    options = ("--ranks", "3,4,2", "--sweeps", 8, "--tolerance", 0, "--threads", 1)
    singles = [fit(bench, tensor, *options, "--seed", seed)[0] for seed in range(7, 12)]
    best, output, _ = fit(bench, tensor, *options, "--seed", 7, "--starts", 5, "--json")
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    fits = [model.history[-1] for model in singles]
    bench.holds("tucker starts: each has the fit of its seed",
                [event["fit"] for event in events if event["event"] == "start"] == fits)
    first = int(np.argmax(fits))
    bench.holds("tucker starts: the best is its seed's model", best.core.tobytes() == singles[first].core.tobytes())
    said = next(event for event in events if event["event"] == "starts")
    bench.holds("tucker starts: the best is told", (said["best"], said["seed"]) == (first + 1, 7 + first))
    lowest = []
    for number, (model, match) in enumerate(zip(singles, said["matches"]), 1):
        if number == said["best"]:
            bench.holds("tucker starts: the best has no match", match["match"] is None)
            continue
        cosines = [np.linalg.svd(a.T @ b)[1] for a, b in zip(model.factors, best.factors)]
        expected = [np.mean(of_mode ** 2) for of_mode in cosines]
        bench.near(f"tucker starts: matches of start {number}", match["modes"], expected, 1e-12)
        bench.holds(f"tucker starts: match of start {number}", match["match"] == min(match["modes"]))
        lowest.append(min(expected))
    bench.near("tucker starts: lowest and mean match", [said["lowest_match"], said["mean_match"]],
               [min(lowest), np.mean(lowest)], 1e-12)


def checks(bench):
    check_errors(bench)
    check_starts(bench)
    check_programs(bench)
    check_sweeps(bench, "of three modes", bench.tensor(planted_array(11, (14, 12, 10), 3, noise=0.3, zeros=0.2)),
                 "3,4,2")
    check_sweeps(bench, "of four modes", bench.tensor(planted_array(12, (9, 5, 8, 6), 2, noise=0.3, zeros=0.4)),
                 "2,3,2,3")
    check_sweeps(bench, "of a matrix", bench.tensor(planted_array(13, (20, 15), 3, noise=0.3, zeros=0.2)), "3,3")
    check_sweeps(bench, "of five modes", bench.tensor(planted_array(16, (5, 6, 4, 3, 7), 2, noise=0.3, zeros=0.4)),
                 "2,3,2,2,3")
    check_budgets(bench)
    check_out_of_core(bench)
    check_stationary(bench)
    check_reordered(bench)
    check_small_values(bench)


def peer_checks(bench):
    """pyttb's tucker_als goes by the Gram matrix of each unfolding: the same spaces from the same start."""
    import pyttb

    tensor = bench.tensor(planted_array(14, (14, 12, 10), 3, noise=0.3, zeros=0.2))
    options = ("--ranks", "3,4,2", "--method", "hooi", "--tolerance", 0)
    first, _, path = fit(bench, tensor, *options, "--sweeps", 1)
    later, _, _ = fit(bench, tensor, *options, "--sweeps", 5, "--init", path)
    expected, _, _ = pyttb.tucker_als(pyttb.tensor(tensor.array), [3, 4, 2], init=[f.copy() for f in first.factors],
                                      stoptol=0, maxiters=5, printitn=-1)
    compare_spaces(bench, "tucker beside pyttb", later.factors, expected.factor_matrices, 1e-8)
    bench.near("tucker beside pyttb: fit", later.history[-1], fit_of(tensor.array, expected.factor_matrices), 1e-8)
