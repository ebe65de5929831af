#!/usr/bin/env python3
"""Whether generalised CP finds what is there: gcp beside apr, and the best constant model, on counts and on ones.

usage: losses.py FOLDER [--bin FOLDER] [--rank R] [--seeds N] [--tensors NAME,...] [--methods NAME,...]

Writes a knowledge graph (FOLDER/graph.tns) and a dense tensor of positive numbers (FOLDER/dense.tns) unless they are
there, and fits every FOLDER/NAME.tns or NAME.tns.gz at default options: whole numbers by apr and the losses of counts,
ones by apr and the losses of bits, others by the losses of positive numbers; or by the methods that are named. "poisson
in apr's time" and "poisson from apr" need apr before them: a limit of the seconds that it took, and --init. Per fit:
sweeps, seconds, the objective, the share of the best constant model's deviance that it explains, and for ones the area
under the curve (AUC) of listed against random cells, by the model's values in numpy. Needs numpy and h5py.
"""

import argparse
import json
import pathlib
import subprocess

import h5py
import numpy as np

IN_TIME, FROM_APR = "poisson in apr's time", "poisson from apr"
COUNTS = ["apr", "poisson", IN_TIME, FROM_APR, "poisson-log"]
BITS = ["apr", "bernoulli-logit", "bernoulli-odds"]
POSITIVE = ["gamma", "rayleigh"]
NO_WHOLE_SWEEP = 8  # the exit code of a fit whose time ends before its first sweep does


def write_graph(path, seed=1, entities=14500, relations=237, triples=310000, groups=20):
    """A relation leads from one group of entities to another; a tenth of the triples are noise. Entities and relations
    are of very different frequency."""
    random = np.random.default_rng(seed)
    popularity = (random.pareto(1.0, entities) + 0.05)**0.7
    group = random.integers(0, groups, entities)
    frequency = 1 / np.arange(1, relations + 1)
    relation = random.choice(relations, size=triples * 8 // 5, p=frequency / frequency.sum())
    ends = []
    for _ in range(2):
        chosen = np.empty(len(relation), int)
        for one, side in enumerate(random.integers(0, groups, relations)):
            members = np.flatnonzero(group == side)
            at = np.flatnonzero(relation == one)
            chosen[at] = random.choice(members, size=len(at), p=popularity[members] / popularity[members].sum())
        ends.append(chosen)
    noise = np.flatnonzero(random.random(len(relation)) < 0.1)
    for chosen in ends:
        chosen[noise] = random.integers(0, entities, len(noise))
    listed = np.unique(np.stack([ends[0], relation, ends[1]], 1), axis=0)
    listed = listed[random.permutation(len(listed))[:triples]]
    np.savetxt(path, np.c_[listed + 1, np.ones(len(listed), int)], fmt="%d")


def write_dense(path, shape=(120, 100, 80), rank=5):
    """Every cell has a number, gamma-distributed around a planted model."""
    random = np.random.default_rng(1)
    factors = [random.gamma(1.0, 1.0, (length, rank)) for length in shape]
    values = np.einsum("ir,jr,kr->ijk", *factors) * random.gamma(3.0, 1 / 3, shape) + 1e-3
    places = np.indices(shape).reshape(3, -1).T + 1
    np.savetxt(path, np.c_[places, values.ravel()], fmt=["%d"] * 3 + ["%.6g"])


def values_at(model, places):
    terms = np.broadcast_to(model["weights"][:], (len(places), len(model["weights"]))).copy()
    for mode in range(places.shape[1]):
        terms *= model[f"factors/{mode}"][:][places[:, mode]]
    return terms.sum(axis=1)


def area_under_curve(model, listed, shape, count=50000):
    random = np.random.default_rng(7)
    cells = np.stack([random.integers(0, length, count) for length in shape], 1)
    scores = np.r_[values_at(model, listed[random.integers(0, len(listed), count)]), values_at(model, cells)]
    _, inverse, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[inverse]  # equal scores share their ranks
    return (ranks[:count].sum() - count * (count + 1) / 2) / count**2


def fit(options, tensor, flags, seed, output):
    command = [options.bin / "blco-cpd", tensor, "--rank", options.rank, "--threads", 1, "--seed", seed, "--json", "-o",
               output, *flags]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode == NO_WHOLE_SWEEP:
        return None, 0
    done.check_returncode()
    events = [json.loads(line) for line in done.stdout.splitlines()]
    result = next(event for event in events if event["event"] == "result")
    return result, sum(event["seconds"] for event in events if event["event"] == "sweep")


def measure(options, text):
    name = text.name.split(".")[0]
    container = text.with_name(f"{name}.blco")
    if not container.exists():
        subprocess.run([options.bin / "blco-ingest", text, "-o", container, "--quiet"], check=True)
    entries = np.loadtxt(text)
    listed = entries[:, :-1].astype(int) - 1
    are_ones, are_whole = np.all(entries[:, -1] == 1), np.all(entries[:, -1] % 1 == 0)
    for seed in range(1, options.seeds + 1):
        apr, of_apr = text.with_name(f"{name}-apr-{seed}.h5"), 0
        for method in options.methods or (BITS if are_ones else COUNTS if are_whole else POSITIVE):
            flags = ["--method", "gcp", "--loss", method]
            if method == "apr":
                flags = ["--method", "apr"]
            elif method == IN_TIME:
                flags = ["--method", "gcp", "--loss", "poisson", "--time-limit", f"{of_apr:.1f}s"]
            elif method == FROM_APR:
                flags = ["--method", "gcp", "--loss", "poisson", "--init", apr]
            output = apr if method == "apr" else text.with_name(f"{name}-gcp-{seed}.h5")
            result, seconds = fit(options, container, flags, seed, output)
            if result is None:
                print(f"| {name} | {method} | {seed} | 0 | | | | |", flush=True)
                continue
            of_apr = seconds if method == "apr" else of_apr
            with h5py.File(output) as model:
                area = f"{area_under_curve(model, listed, model.attrs['shape']):.4f}" if are_ones else ""
            print(f"| {name} | {method} | {seed} | {result['sweeps']} | {seconds:.1f} | {result['objective']:.6e} | "
                  f"{100 * result['explained']:.2f}% | {area} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build" / "release" / "bin")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    names = {"type": lambda text: text.split(","), "default": []}
    parser.add_argument("--tensors", **names)
    parser.add_argument("--methods", **names)
    options = parser.parse_args()
    for name, write in (("graph", write_graph), ("dense", write_dense)):
        if not (options.folder / f"{name}.tns").exists():
            write(options.folder / f"{name}.tns")
    print("| tensor | method | seed | sweeps | seconds | objective | explained | AUC |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for text in sorted(options.folder.glob("*.tns*")):
        if not options.tensors or text.name.split(".")[0] in options.tensors:
            measure(options, text)


if __name__ == "__main__":
    main()
