"""What blco-predict writes is what numpy computes from the model file: of text, a table with labels, containers (plain,
reordered, with labels in another order), arrays and a pipe; the worst entries are those of a full sort.

usage: check_predict.py BIN_FOLDER
"""
import csv
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from blco_commands import Commands, skip

try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")

SEED = 271828
NUMBERS = ["value", "model", "residual", "deviance"]
LABELS = {"user": ['ann', 'bob, "b"', "line\nbreak", "7", "ü", " eve "], "item": ["pen", "cup", "a;b"]}


def values_of(model, rows):
    """The values of the model at rows of coordinates from 0."""
    with h5py.File(model) as file:
        product = np.tile(file["weights"][:], (len(rows), 1))
        for n in range(rows.shape[1]):
            product *= file[f"factors/{n}"][:][rows[:, n]]
    return product.sum(axis=1)


def deviance(x, m):
    safe = np.where(x > 0, x, 1)
    return 2 * (np.where(x > 0, x * np.log(safe / m), 0) - x + m)


def read_table(path, separator=","):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    return header, rows


class Checks:
    def __init__(self, commands, folder):
        self.commands, self.folder = commands, folder
        source = np.random.default_rng(SEED)
        self.shape = (300, 40, 25)
        self.points = np.column_stack([source.integers(0, length, 40000) for length in self.shape])
        self.values = source.integers(1, 9, 40000).astype("f8")
        self.text = folder / "t.tns"
        np.savetxt(self.text, np.column_stack([self.points + 1, self.values]), fmt="%d")
        shape = "x".join(map(str, self.shape))
        for name, options in {"plain": [], "reordered": ["--reorder", "frequency"]}.items():
            commands.run("blco-ingest", self.text, "-o", folder / f"{name}.blco", "--shape", shape, "--chunk-nnz", 9000,
                         *options)
        self.model = folder / "m.h5"
        commands.run("blco-cpd", folder / "plain.blco", "--rank", 5, "--sweeps", 3, "-o", self.model)
        self.number = 0

    def predict(self, model, entries, *options, ending=".csv", each="--each-entry"):
        self.number += 1
        path = self.folder / f"out{self.number}{ending}"
        options = [option for option in (each, *options) if option]
        output, _ = self.commands.run("blco-predict", model, entries, "-o", path, "--json", *options)
        header, rows = read_table(path, "\t" if ".tsv" in ending else ",")
        return header, rows, json.loads(output.splitlines()[-1])

    def compare(self, what, rows, points, values, model, ratio):
        """Rows with indices from 1, in this order."""
        if not np.array_equal(np.array([row[:-4] for row in rows], dtype="i8") - 1, points):
            yield f"{what}: other entries, or in another order"
            return
        numbers = np.array([row[-4:] for row in rows], dtype="f8")
        expected = np.column_stack([values, model, values - model, ratio])
        for column, name in enumerate(NUMBERS):
            worst = np.max(np.abs(numbers[:, column] - expected[:, column]) / (1 + np.abs(expected[:, column])))
            if worst > 1e-9:
                yield f"{what}: {name} differs by {worst}"

    def check_text(self):
        model = values_of(self.model, self.points)
        header, rows, summary = self.predict(self.model, self.text, ending=".tsv.gz")
        if header != ["mode0", "mode1", "mode2", *NUMBERS]:
            yield f"the header is {header}"
        residual = self.values - model
        yield from self.compare("text", rows, self.points, self.values, model, residual**2)
        expected = {"rmse": np.sqrt(np.mean(residual**2)), "sum_of_squares": np.sum(residual**2), "min": residual.min(),
                    "mean_absolute_error": np.mean(np.abs(residual)), "max": residual.max()}
        for name, number in expected.items():
            if abs(summary["residual"][name] - number) > 1e-9 * (1 + abs(number)):
                yield f"the summary's {name} is {summary['residual'][name]}, not {number}"

    def check_folded(self):
        """The model was fitted to sums, so entries of equal coordinates are summed, whatever the memory."""
        keys, where = np.unique(self.points, axis=0, return_inverse=True)
        sums = np.bincount(where.ravel(), weights=self.values)
        model = values_of(self.model, keys)
        for memory in ("8MiB", "1GiB"):
            _, rows, summary = self.predict(self.model, self.text, "--memory", memory, "--threads", 1, each="")
            rows.sort(key=lambda row: [int(field) for field in row[:3]])
            yield from self.compare(f"sums in {memory}", rows, keys, sums, model, (sums - model) ** 2)
            if (summary["folded_entries"], summary["entries"]) != (len(self.points), len(keys)):
                yield f"sums in {memory}: {summary['folded_entries']} entries became {summary['entries']}"

    def check_containers(self):
        """A container sums entries of equal coordinates."""
        keys, where = np.unique(self.points, axis=0, return_inverse=True)
        sums = np.bincount(where.ravel(), weights=self.values)
        model = values_of(self.model, keys)
        for name in ("plain", "reordered"):
            _, rows, _ = self.predict(self.model, self.folder / f"{name}.blco")
            exported = self.commands.run("blco-export", self.folder / f"{name}.blco", "-o", "-")[0].splitlines()
            if [" ".join(row[:3]) for row in rows] != [line.rsplit(" ", 1)[0] for line in exported]:
                yield f"{name}: not in the order of the container"
            rows.sort(key=lambda row: [int(field) for field in row[:3]])
            yield from self.compare(name, rows, keys, sums, model, (sums - model) ** 2)

    def check_arrays(self):
        np.savez(self.folder / "t.npz", coords=self.points.T, values=self.values)
        with h5py.File(self.folder / "t.h5", "w") as file:
            file["list/indices"], file["list/values"] = self.points, self.values
        _, expected, _ = self.predict(self.model, self.text)
        for name in ("t.npz", "t.h5:/list"):
            _, rows, _ = self.predict(self.model, self.folder / name)
            if rows != expected:
                yield f"{name}: other rows than of the text"

    def check_pipe(self):
        _, expected, _ = self.predict(self.model, self.text, each="")
        program = [str(self.commands.folder / "blco-predict"), str(self.model), "-", "-o", "-", "--quiet"]
        done = subprocess.run(program, input=gzip.compress(self.text.read_bytes()), stdout=subprocess.PIPE, check=True)
        if list(csv.reader(done.stdout.decode().splitlines()))[1:] != expected:
            yield "a compressed pipe: other rows than of the file"

    def check_top(self):
        """The model of a least-squares fit may be negative; a positive one has a finite deviance of counts."""
        with h5py.File(self.folder / "positive.h5", "w") as file:
            source = np.random.default_rng(SEED + 1)
            file.attrs["format"], file.attrs["rank"], file.attrs["shape"] = "blco-model", 3, list(self.shape)
            file["weights"] = np.array([3.0, 2.0, 1.0])
            for n, length in enumerate(self.shape):
                file[f"factors/{n}"] = source.uniform(0.2, 1.5, (length, 3))
        model = values_of(self.folder / "positive.h5", self.points)
        ratio = deviance(self.values, model)
        order = np.argsort(-ratio, kind="stable")
        for count in (1, 1000, 100000):
            _, rows, summary = self.predict(self.folder / "positive.h5", self.text, "--loss", "poisson", "--top", count)
            if len(rows) != min(count, len(order)) or summary["written_entries"] != len(rows):
                yield f"--top {count}: {len(rows)} rows"
            # Equal rows have equal ratios, and rounding may exchange others that are nearly equal: none here is.
            yield from self.compare(f"--top {count}", rows, self.points[order[:count]], self.values[order[:count]],
                                    model[order[:count]], ratio[order[:count]])
        if abs(summary["deviance"]["sum"] - ratio.sum()) > 1e-9 * ratio.sum():
            yield f"the sum of ratios is {summary['deviance']['sum']}, not {ratio.sum()}"

    def write_rows(self, name, rows):
        with open(self.folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([["user", "n", "when", "item"], *rows])
        return self.folder / name

    def check_labels(self):
        """Days of a time, labels with everything in them, keys that the model lacks; a container of other numbers."""
        source = random.Random(SEED)
        days = [f"2024-03-{day:02}" for day in range(1, 12)]

        def draw():
            return [source.choice(LABELS["user"]), source.randint(0, 5), source.choice(days) + "T10:30:00",
                    source.choice(LABELS["item"])]
        table = self.write_rows("a.csv", [draw() for _ in range(3000)])
        columns = ["--modes", "user,when:day,item", "--value", "n"]
        self.commands.run("blco-ingest", table, *columns, "-o", self.folder / "a.blco")
        model = self.folder / "labelled.h5"
        self.commands.run("blco-cpd", self.folder / "a.blco", "--rank", 3, "--sweeps", 2, "-o", model)
        with h5py.File(model) as file:
            parts = [np.split(file[f"modes/{n}/labels"][:], file[f"modes/{n}/label_ends"][:-1]) for n in range(3)]
            numbers = [{part.tobytes().decode(): i for i, part in enumerate(mode)} for mode in parts]

        drawn = [draw() for _ in range(5000)]
        for row in source.sample(drawn, 40):
            row[source.choice([0, 2, 3])] = "2030-01-01"
        new = self.write_rows("new.csv", drawn)
        known = [[row[0], row[2][:10], row[3], row[1]] for row in drawn if "2030-01-01" not in row]
        points = np.array([[numbers[n][label] for n, label in enumerate(row[:3])] for row in known])
        expected = values_of(model, points)
        header, rows, summary = self.predict(model, new, *columns, "--skip-unknown")
        if header[:3] != ["user", "when", "item"] or [row[:3] for row in rows] != [row[:3] for row in known]:
            yield f"a table: its labels are not those of the input; header {header}"
        if np.max(np.abs(np.array([row[4] for row in rows], dtype="f8") - expected)) > 1e-9:
            yield "a table: other values of the model"
        if summary["unknown_entries"] != 5000 - len(known):
            yield f"a table: {summary['unknown_entries']} entries are unknown"

        others = [row for row in drawn if "2030-01-01" not in row]
        shuffled = self.write_rows("shuffled.csv", source.sample(others, len(others)))
        self.commands.run("blco-ingest", shuffled, *columns, "-o", self.folder / "shuffled.blco")
        _, rows, _ = self.predict(model, self.folder / "shuffled.blco")
        by_labels = {tuple(row[:3]): float(row[4]) for row in rows}
        if by_labels.keys() != {tuple(row[:3]) for row in known}:
            yield "a container with its labels in another order: other entries"
        elif max(abs(by_labels[tuple(row[:3])] - value) for row, value in zip(known, expected)) > 1e-9:
            yield "a container with its labels in another order: other values of the model"


def main():
    commands = Commands(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="blco-predict-") as folder:
        checks = Checks(commands, pathlib.Path(folder))
        for check in (checks.check_text, checks.check_folded, checks.check_containers, checks.check_arrays,
                      checks.check_pipe, checks.check_top, checks.check_labels):
            for failure in check():
                sys.exit(f"{check.__name__}: {failure}")
    print("predictions are those of numpy: text, containers, arrays, a pipe, the worst entries, labels")


main()
