"""A fit of each method, for the tests of killed and of damaged jobs: what it is asked for, and tensors for all of them.

`run(program, *arguments)` runs one of blco's programs and ends the test if that fails.
"""
import random

# Name: the tensor and the options. All but the first two keep a state in a checkpoint, beside the factors.
METHOD_JOBS = {
    "als, plain": ("counts.blco", ["--momentum", "off"]),
    "als, nonnegative": ("counts.blco", ["--nonnegative", "--momentum", "off"]),
    "als": ("counts.blco", []),
    "als, simplex and box": ("counts.blco", ["--simplex", "1", "--box", "0:2:2"]),
    "apr": ("counts.blco", ["--method", "apr", "--inner", "3"]),
    "gcp": ("counts.blco", ["--method", "gcp", "--loss", "poisson", "--evaluations", "4"]),
    "gcp-adam": ("ones.blco", ["--method", "gcp-adam", "--loss", "bernoulli-odds", "--samples", "300",
                               "--learning-rate", "0.01"]),
    "complete": ("ratings.blco", ["--method", "complete", "--ridge", "3", "--validate", "held-out.blco"]),
}


def write_ratings(path, random_source, lengths, components, nnz):
    """Noisy entries of a small model, at random places."""
    with open(path, "w", encoding="ascii") as file:
        for _ in range(nnz):
            place = [random_source.randrange(length) for length in lengths]
            rows = zip(*[factor[i] for factor, i in zip(components, place)])
            value = sum(a * b * c for a, b, c in rows) + random_source.gauss(0, 0.9)
            file.write(" ".join(str(i + 1) for i in place) + f" {value!r}\n")


def make_method_tensors(run, folder, lengths, nnz, chunk_nnz):
    """The tensors that METHOD_JOBS names, of order 3: counts, ones, ratings, and held-out ratings of the same model."""
    shape = "x".join(map(str, lengths))
    common = ["--shape", shape, "--chunk-nnz", chunk_nnz, "--quiet"]
    run("blco-gen", *common, "--nnz", nnz, "--counts", "--seed", 3, "-o", folder / "counts.blco")
    text = folder / "entries.tns"
    run("blco-gen", "--shape", shape, "--nnz", nnz, "--rank", 0, "--noise", 0, "-o", text, "--quiet")
    run("blco-ingest", text, *common, "--duplicates", "max", "-o", folder / "ones.blco")
    source = random.Random(5)
    components = [[[source.gauss(0, 1) for _ in range(3)] for _ in range(length)] for length in lengths]
    for name, count in (("ratings", nnz), ("held-out", nnz // 5)):
        write_ratings(text, source, lengths, components, count)
        run("blco-ingest", text, *common, "--duplicates", "last", "-o", folder / f"{name}.blco")
    text.unlink()


def fit_arguments(name, folder, rank, sweeps, *more):
    """The arguments of blco-cpd; on one thread, where every bit of a model is the same each time."""
    tensor, options = METHOD_JOBS[name]
    files = [str(folder / option) if option.endswith(".blco") else option for option in options]
    return [folder / tensor, *files, "--rank", rank, "--sweeps", sweeps, "--tolerance", 0, "--threads", 1, "--devices",
            "cpu", "--quiet", *more]
