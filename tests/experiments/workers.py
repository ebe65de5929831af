#!/usr/bin/env python3
"""What many workers would send each other, by how rows are shared: counts from the coordinates, and their arithmetic.

usage: workers.py TENSOR.blco ... --bin FOLDER [--workers 4,16,64] [--rank 16] [--bandwidth 25e9] [--latency 5e-6]
                  [--rate 150e6] [--json FILE]

Each worker has an equal range of the nonzeros in the container's natural order, as processes have. Four ways, for one
sweep of least squares, in bytes that the busiest worker and a worker on average send and receive:

  tree     a binomial tree: rows go down to the workers that touch them, or have such workers below them, and sums come
           back; process 0 updates all rows. That is what blco did before rows had owners.
  dense    an all-reduce of each mode's whole output in a ring, and all workers update all rows
  owners   each row has an owner, in contiguous ranges of about equal numbers of touches. Partial rows go to the owner,
           updated rows come back to those who touch them. That is what blco does.
  targets  as owners, but in the pass of a mode a worker takes the nonzeros whose row of that mode it owns, from the
           orders of modes. No partial rows travel; more rows of the other modes are touched.

Rows touched are those of a worker in all modes; rows held are those, and the ones that it owns. Held bytes are the
memory of the worker with most of it for factors and one output, beside those of one that holds all rows. The time is that of a pass of each mode over the worker's nonzeros, at
--rate nonzeros a second and mode, and of the busiest worker's bytes and messages; of the tree that of the longest way.
"""
import argparse
import json
import pathlib
import subprocess

import numpy as np


def coordinates_of(binaries, container):
    """Modes x nonzeros, in the order of the container."""
    program = str(pathlib.Path(binaries) / "blco-export")
    text = subprocess.run([program, container, "-o", "-", "--index-base", "0", "--quiet"], check=True,
                          stdout=subprocess.PIPE).stdout
    lines = text.split(b"\n", 1)
    columns = len(lines[0].split())
    return np.fromstring(text, dtype=np.float64, sep=" ").reshape(-1, columns)[:, :-1].T.astype(np.int64)


def touched_of(indices, cuts):
    """Of each worker, the rows that its range of the nonzeros has, sorted."""
    return [np.unique(indices[first:end]) for first, end in zip(cuts[:-1], cuts[1:])]


def owners_of(touched, length):
    """The first row of each worker's range, and the end. Units of rows, about 8192 or more of a long mode, go to the
    worker in whose part of all touches their middle lies."""
    unit = 1
    while unit < 64 and 8192 * unit < length:
        unit *= 2
    touches = np.bincount(np.concatenate(touched) // unit, minlength=-(-length // unit))
    middles = np.cumsum(touches) - touches / 2
    bounds = touches.sum() * np.arange(1, len(touched)) / len(touched)
    return np.concatenate([[0], np.minimum(length, unit * np.searchsorted(middles, bounds)), [length]])


def children_of(rank, size):
    end = size if rank == 0 else min(size, rank + (rank & -rank))
    step = 1
    while rank + step < end:
        yield rank + step
        step *= 2


def by_tree(rows, size, cost):
    """Rows that each worker sends and receives, and the seconds of the longest way down; `rows` by mode and worker."""
    moved = np.zeros(size)

    def visit(rank):
        below, seconds, longest = [of_mode[rank] for of_mode in rows], 0.0, 0.0
        for child in children_of(rank, size):
            theirs, own_seconds = visit(child)
            count = 2 * sum(len(of_mode) for of_mode in theirs)
            moved[rank] += count
            moved[child] += count
            seconds += cost(count, 4 * len(rows))
            longest = max(longest, own_seconds)
            below = [np.union1d(here, there) for here, there in zip(below, theirs)]
        return below, seconds + longest

    return moved, visit(0)[1]


def exchanged(rows, cuts):
    """Rows that each worker touches without owning them, those that it owns and others touch, and with how many others
    it exchanges rows; `rows` of each worker."""
    size = len(rows)
    sent = np.zeros((size, size), dtype=np.int64)  # by who touches and who owns
    for worker, touched in enumerate(rows):
        sent[worker] = np.diff(np.searchsorted(touched, cuts))
        sent[worker, worker] = 0
    peers = ((sent > 0) | (sent.T > 0)).sum(axis=1)
    return sent.sum(axis=1), sent.sum(axis=0), peers


def by_owners(rows, lengths, rank):
    """Rows and messages that each worker sends and receives. Workers exchange rows in rounds: of each owner, a block."""
    moved, messages = 0, 0
    size = len(rows[0])
    longest = max(lengths) * rank
    block = max(1 << 17, min(longest, size << 14), longest // 8, size * rank) // rank // size
    for of_mode, length in zip(rows, lengths):
        cuts = owners_of(of_mode, length)
        touched, owned, peers = exchanged(of_mode, cuts)
        of_mode_moved = 2 * (touched + owned)
        rounds = -(-np.diff(cuts).max() // block)
        moved, messages = moved + of_mode_moved, messages + np.minimum(4 * peers * rounds, of_mode_moved)
    return moved, messages


def held_rows(rows, lengths):
    """Of each mode and worker, the rows that it touches or owns."""
    held = []
    for of_mode, length in zip(rows, lengths):
        cuts = owners_of(of_mode, length)
        own = [np.diff(np.searchsorted(touched, cuts[worker:worker + 2]))[0] for worker, touched in enumerate(of_mode)]
        held.append([len(touched) for touched in of_mode] + np.diff(cuts) - np.array(own))
    return np.array(held)


def by_targets(coordinates, rows, lengths, size):
    """The same, and the nonzeros that each worker has in all passes."""
    cuts = [owners_of(of_mode, length) for of_mode, length in zip(rows, lengths)]
    workers = [np.searchsorted(of_mode, indices, side="right") - 1 for of_mode, indices in zip(cuts, coordinates)]
    moved, messages = 0, 0
    for mode, indices in enumerate(coordinates):
        keys = [of_pass * lengths[mode] + indices for n, of_pass in enumerate(workers) if n != mode]
        pairs = np.unique(np.concatenate(keys))
        touched = [pairs[(pairs >= w * lengths[mode]) & (pairs < (w + 1) * lengths[mode])] - w * lengths[mode]
                   for w in range(size)]
        away, owned, peers = exchanged(touched, cuts[mode])
        moved, messages = moved + away + owned, messages + 2 * peers
    return moved, messages, sum(np.bincount(of_pass, minlength=size) for of_pass in workers)


def simulate(coordinates, size, arguments):
    """The figures of one tensor and number of workers."""
    lengths = [int(indices.max()) + 1 for indices in coordinates]
    modes, nonzeros = coordinates.shape
    row_bytes = 8 * arguments.rank
    ranges = nonzeros * np.arange(size + 1) // size
    rows = [touched_of(indices, ranges) for indices in coordinates]
    cost = lambda count, messages: count * row_bytes / arguments.bandwidth + messages * arguments.latency
    passes = modes * nonzeros / size / arguments.rate
    tree, tree_seconds = by_tree(rows, size, cost)
    owners, owner_messages = by_owners(rows, lengths, arguments.rank)
    targets, target_messages, own_nonzeros = by_targets(coordinates, rows, lengths, size)
    dense = np.full(size, 4 * (size - 1) / size * sum(lengths))
    dense_messages = 4 * (size - 1) * modes
    held = held_rows(rows, lengths)
    found = {"workers": size, "rows": sum(lengths),
             "touched": [int(sum(len(of_mode[w]) for of_mode in rows)) for w in range(size)],
             "held": held.sum(axis=0).tolist(),
             "held_bytes": int((held.sum(axis=0) + held.max(axis=0)).max() * row_bytes),
             "all_bytes": (sum(lengths) + max(lengths)) * row_bytes}
    for name, moved, seconds in (
            ("tree", tree, passes + tree_seconds), ("dense", dense, passes + cost(dense.max(), dense_messages)),
            ("owners", owners, passes + np.max(cost(owners, owner_messages))),
            ("targets", targets, own_nonzeros.max() / arguments.rate + np.max(cost(targets, target_messages)))):
        found[name] = {"busiest_bytes": float(moved.max() * row_bytes), "mean_bytes": float(moved.mean() * row_bytes),
                       "seconds": float(seconds)}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tensors", nargs="+")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--workers", default="4,16,64")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--bandwidth", type=float, default=25e9, help="bytes a second, of a worker's network")
    parser.add_argument("--latency", type=float, default=5e-6, help="seconds that a message takes beside its bytes")
    parser.add_argument("--rate", type=float, default=150e6, help="nonzeros a second of a worker, of one mode")
    parser.add_argument("--json", help="all figures, to this file")
    arguments = parser.parse_args()
    everything = {}
    print("| tensor | workers | rows touched | rows held | MB held | tree | dense | owners | targets "
          "| ms: tree | dense | owners | targets |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for path in arguments.tensors:
        name = pathlib.Path(path).name.split(".")[0]
        coordinates = coordinates_of(arguments.bin, path)
        for size in map(int, arguments.workers.split(",")):
            found = simulate(coordinates, size, arguments)
            everything[f"{name}, {size}"] = found
            ways = [found[way] for way in ("tree", "dense", "owners", "targets")]
            cells = [f"{way['busiest_bytes'] / 1e6:.2f} ({way['mean_bytes'] / 1e6:.2f})" for way in ways]
            cells += [f"{way['seconds'] * 1e3:.2f}" for way in ways]
            print(f"| {name} | {size} | {max(found['touched'])} of {found['rows']} | {max(found['held'])} "
                  f"| {found['held_bytes'] / 1e6:.1f} of {found['all_bytes'] / 1e6:.1f} | {' | '.join(cells)} |", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
