"""The smallest budget that blco-cpd names is kept, where factors, the model, the R x R systems or the output are what is large.

usage: check_memory_budgets.py BIN_FOLDER
"""
import pathlib
import sys
import tempfile

from blco_commands import Commands, mebibytes

SLACK = 64 << 20
CASES = {
    "long modes, f64": ("900000x700000x500000", ["--rank", 16]),
    "long modes, f32": ("900000x700000x500000", ["--rank", 16, "--precision", "f32"]),
    "long modes, mixed": ("900000x700000x500000", ["--rank", 30, "--precision", "mixed"]),
    "two starts": ("900000x700000x500000", ["--rank", 8, "--starts", 2]),
    "leading vectors": ("900000x700000x500000", ["--rank", 8, "--start", "nvecs"]),
    "a high rank": ("60x50x40", ["--rank", 1500]),
    "without momentum": ("900000x700000x500000", ["--rank", 8, "--momentum", "off"]),
    "one thread": ("900000x700000x500000", ["--rank", 8, "--threads", 1]),
    "L-BFGS": ("150000x100000x50000", ["--rank", 8, "--method", "gcp", "--loss", "poisson", "--evaluations", 3]),
    "orders of modes": ("900000x700000x500000 --orders all", ["--rank", 16]),
    "orders, apr": ("900000x700000x500000 --orders all", ["--rank", 16, "--method", "apr"]),
    "Adam": ("150000x100000x50000", ["--rank", 6, "--method", "gcp-adam", "--loss", "gamma", "--learning-rate", "1e-4"]),
}


def main():
    commands, failures = Commands(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as temporary:
        container, model = pathlib.Path(temporary) / "tensor.blco", pathlib.Path(temporary) / "model.h5"
        for name, (shape, options) in CASES.items():
            commands.run("blco-gen", "--shape", *shape.split(), "--nnz", 50000, "-o", container)
            budget = commands.min_budget(container, *options)
            _, peak = commands.run("blco-cpd", container, *options, "--sweeps", 2, "--memory", budget, "-o", model)
            print(f"{name:16} budget {mebibytes(budget):6.1f} MiB, peak {mebibytes(peak):6.1f} MiB")
            failures += [name] if peak > budget + SLACK else []
    sys.exit(f"over the budget: {', '.join(failures)}" if failures else 0)


main()
