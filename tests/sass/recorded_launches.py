"""What dump_launch wrote: launches with their device memory, and what must come out, from coordinates and values."""
import dataclasses
import json
import pathlib

import numpy as np

import warp_interpreter
from memory_instructions import Memory

# Of a sum, over the sum of its terms' magnitudes.
TOLERANCE = {"f64": 1e-14, "mixed": 1e-14, "f32": 2e-6}
LOSS_EPSILON = 1e-10  # of the Poisson loss
KIND = {"f64": np.float64, "mixed": np.float64, "f32": np.float32}  # of sums
KIND_OF_FACTORS = {"f64": np.float64, "mixed": np.float32, "f32": np.float32}


def device_memory(path, ranges):
    content = pathlib.Path(path).read_bytes()
    parts, at = [], 0
    for address, size in ranges:
        parts.append((address, content[at:at + size]))
        at += size
    if at != len(content):
        raise ValueError(f"{path}: {len(content)} bytes, not {at}")
    return Memory(parts)


@dataclasses.dataclass
class MttkrpLaunch:
    """One launch of an MTTKRP kernel and its oracle."""

    record: dict
    folder: pathlib.Path

    def __getattr__(self, name):
        return self.record[name]

    def truth(self):
        """Coordinates (nnz x order), values and factors, as the tensor has them."""
        content = (self.folder / f"{self.name}.truth").read_bytes()
        order, nnz = len(self.shape), self.nnz
        coordinates = np.frombuffer(content, np.uint64, nnz * order).reshape(nnz, order).astype(np.int64)
        numbers = np.frombuffer(content, np.float64, offset=8 * nnz * order)
        values, factors, at = numbers[:nnz], [], nnz
        for mode, length in enumerate(self.shape):
            columns = self.columns[mode] if self.columns else self.rank
            factors.append(numbers[at:at + length * columns].reshape(length, columns))
            at += length * columns
        return coordinates, values, factors

    def combined(self, products, rows):
        """Products of each nonzero, times the rows of one more mode."""
        return products * rows

    def expected(self):
        """(rows of the output, sums of the terms' magnitudes, first fault); a coordinate outside counts as row 0."""
        coordinates, values, factors = self.truth()
        coordinates = coordinates.copy()
        fault = 0
        for mode, length in enumerate(self.shape):
            if (coordinates[:, mode] >= length).any():
                fault = self.chunk + 1 << 8 | mode
                coordinates[coordinates[:, mode] >= length, mode] = 0
        kind = KIND[self.precision]
        terms = values.astype(kind).astype(np.longdouble)[:, None]
        if not self.columns:
            terms = np.repeat(terms, self.rank, axis=1)
        for mode, factor in enumerate(factors):
            if mode != self.mode:
                terms = self.combined(terms, factor.astype(KIND_OF_FACTORS[self.precision])[coordinates[:, mode]])
        rows = np.zeros((self.shape[self.mode], terms.shape[1]), np.longdouble)
        sizes = np.zeros_like(rows)
        np.add.at(rows, coordinates[:, self.mode], terms)
        np.add.at(sizes, coordinates[:, self.mode], abs(terms))
        return rows, sizes, fault

    def run(self, program):
        """Executes the launch; returns (what is wrong or None, largest error, Counts)."""
        memory = device_memory(self.folder / f"{self.name}.device", self.ranges)
        counts = warp_interpreter.launch(program, memory, self.blocks, self.threads, self.shared_bytes,
                                         bytes.fromhex(self.arguments))
        wrong, error = self.compare(memory)
        return wrong, error, counts

    def compare(self, memory):
        rows, sizes, fault = self.expected()
        count = rows.size
        actual = sum(memory.read(address, count, KIND[self.precision]).astype(np.longdouble).reshape(rows.shape)
                     for address in self.outputs)
        found = int(memory.read(self.fault, 1, np.uint64)[0])
        if found != fault:
            return f"fault {found:#x}, not {fault:#x}", np.inf
        errors = np.abs(actual - rows)
        errors = np.where(errors == 0, 0, errors / np.where(sizes == 0, np.finfo(np.float64).tiny, sizes))
        largest = float(errors.max())
        if not largest <= TOLERANCE[self.precision]:
            row, column = np.unravel_index(np.argmax(np.nan_to_num(errors, nan=np.inf)), errors.shape)
            return (f"row {row}, column {column}: {float(actual[row, column])!r}, not {float(rows[row, column])!r}",
                    largest)
        return None, largest


class TtmcLaunch(MttkrpLaunch):
    """One launch of a TTMc: the last mode's column varies fastest."""

    def combined(self, products, rows):
        return (products[:, :, None] * rows[:, None, :]).reshape(len(products), -1)


class LossLaunch(MttkrpLaunch):
    """One launch of a loss pass, and its oracle: outputs of some modes, and the sum of terms."""

    def weigh(self, values, model, size):
        """Terms and weights; and the sizes of both, in which an error of the model, of so large parts, counts."""
        if self.function == "model":
            return model, model, size, size
        if self.function == "gaussian":
            off, parts = model - values, abs(values) + size
            return off**2, 2 * off, parts**2, 2 * parts
        held = np.maximum(model, self.floor) if self.function == "ratio" else model + LOSS_EPSILON
        logarithms, quotients = values * np.log(held), values / held
        log_sizes, quotient_sizes = abs(logarithms) + abs(values) * size / held, abs(quotients) * (1 + size / held)
        if self.function == "ratio":
            return logarithms, quotients, log_sizes, quotient_sizes
        return model - logarithms, 1 - quotients, size + log_sizes, 1 + quotient_sizes

    def expected(self):
        """({mode: (rows, magnitudes)}, (sum of terms, magnitude))."""
        coordinates, values, factors = self.truth()
        factors = [factor.astype(KIND_OF_FACTORS[self.precision]).astype(np.longdouble) for factor in factors]
        values = values.astype(KIND[self.precision]).astype(np.longdouble)
        rows = [factor[coordinates[:, mode]] for mode, factor in enumerate(factors)]
        products = np.prod(rows, axis=0)
        model, size = products.sum(axis=1), abs(products).sum(axis=1)
        terms, weights, term_sizes, weight_sizes = self.weigh(values, model, size)
        outputs = {}
        for mode in map(int, self.outputs):
            others = np.prod([row for other, row in enumerate(rows) if other != mode], axis=0)
            sums = np.zeros_like(factors[mode])
            sizes = np.zeros_like(sums)
            np.add.at(sums, coordinates[:, mode], self.scale * weights[:, None] * others)
            np.add.at(sizes, coordinates[:, mode], abs(self.scale * weight_sizes[:, None] * others))
            outputs[mode] = (sums, sizes)
        return outputs, (self.scale * terms.sum(), abs(self.scale) * term_sizes.sum())

    def compare(self, memory):
        outputs, (terms, size) = self.expected()
        if memory.read(self.fault, 1, np.uint64)[0] != 0:
            return "a fault", np.inf
        warps = self.blocks * self.threads // 32
        largest = float(abs(memory.read(self.terms, warps, np.float64).astype(np.longdouble).sum() - terms) / size)
        if not largest <= TOLERANCE[self.precision]:
            return f"the terms differ from {float(terms)!r} by {largest:.1e} of their size", largest
        for mode, (rows, sizes) in outputs.items():
            actual = sum(memory.read(address, rows.size, KIND[self.precision]).astype(np.longdouble).reshape(rows.shape)
                         for address in self.outputs[str(mode)])
            errors = abs(actual - rows) / np.where(sizes == 0, np.finfo(np.float64).tiny, sizes)
            largest = max(largest, float(errors.max()))
            if not largest <= TOLERANCE[self.precision]:
                return f"mode {mode} differs by {largest:.1e} of the sums' size", largest
        return None, largest


class FrameLaunches:
    """Single frames for the kernel decode_one_frame, and the values that were packed in them."""

    static_shared_bytes = 256 * 8

    def __init__(self, record, folder):
        self.runs, self.ranges, self.folder = record["runs"], record["ranges"], folder
        ends = np.cumsum([run["count"] for run in self.runs])
        self.truth = np.split(np.fromfile(folder / "frames.truth", np.uint64), ends[:-1])

    def run(self, program, step=1):
        """Decodes every step-th frame; returns (what is wrong or None, number of frames)."""
        numbers = range(0, len(self.runs), step)
        return self.run_some(program, numbers)[0], len(numbers)

    def run_some(self, program, numbers):
        """Decodes frames of these numbers; returns (what is wrong or None, Counts of all)."""
        memory = device_memory(self.folder / "frames.device", self.ranges)
        total = warp_interpreter.Counts(program)
        for number in numbers:
            run, expected = self.runs[number], self.truth[number]
            total.add(warp_interpreter.launch(program, memory, 1, 32, self.static_shared_bytes,
                                              bytes.fromhex(run["arguments"])))
            actual = memory.read(run["values"], run["count"], np.uint64)
            if (actual != expected).any():
                entry = int(np.argmax(actual != expected))
                return (f"frame {number} ({run['name']}, width {run['width']}, {run['exceptions']} exceptions), entry "
                        f"{entry}: {actual[entry]}, not {expected[entry]}"), total
        return None, total


def load(folder):
    """(launches of MTTKRP and TTMc, launches of loss passes, FrameLaunches)."""
    folder = pathlib.Path(folder)
    records = json.loads((folder / "launches.json").read_text(encoding="utf-8"))
    return ([*(MttkrpLaunch(record, folder) for record in records["mttkrp"]),
             *(TtmcLaunch(record, folder) for record in records["ttmc"])],
            [LossLaunch(record, folder) for record in records["loss"]], FrameLaunches(records["frames"], folder))
