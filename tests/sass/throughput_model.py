#!/usr/bin/env python3
"""What counted machine code allows on an H100, in billions of nonzeros a second and mode: bounds, not predictions.

usage: throughput_model.py --nvcc=PATH --dump-launch=PATH --build=FOLDER

Executes the order 3 and 4 kernels (rank 32, f64 and mixed, mode 0) on 4096 nonzeros of tensors like NELL-2, Enron and Amazon,
and divides what was counted by rates of the device. Optimistic: the slowest resource alone; rows that the frames of a
multiprocessor share are read once; L2 adds a sector a cycle and slice. Pessimistic: every row of every nonzero comes
from L2, or from memory in the share that L2 does not hold; instructions, L1 and L2 do not overlap; L2 adds a number a
cycle and slice. Latencies are hidden in both.
"""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# An H100 (SXM5): NVIDIA's data sheet, and for the L2 cache what microbenchmarks report.
CLOCK = 1.755e9
MULTIPROCESSORS = 132
CYCLES = CLOCK * MULTIPROCESSORS  # of multiprocessors, a second
SCHEDULERS = 4
L1_BYTES = 128  # a cycle and multiprocessor, as are the next
L2_BYTES = 5.5e12 / CYCLES
MEMORY_BYTES = 3.35e12 * 0.9 / CYCLES
L2_SLICES = 80 / MULTIPROCESSORS
L2_CAPACITY = 50 << 20
SECTOR = 32
NUMBERS_OF_SECTOR = 4

FRAME = 256
# Lengths of the whole tensors.
SHAPES = {
    "nell2_like": (12092, 9184, 28818),
    "enron_like": (6066, 5699, 244268, 1176),
    "amazon_like": (4821207, 1774269, 1805187),
}


def shared_rows(launch, frames):
    """Of the rows that so many neighbouring frames read, the share that no nonzero before has read."""
    import numpy as np
    coordinates, _, _ = launch.truth()
    read = new = 0
    for first in range(0, len(coordinates), frames * FRAME):
        part = coordinates[first:first + frames * FRAME]
        for mode in range(part.shape[1]):
            if mode != launch.mode:
                read += len(part)
                new += len(np.unique(part[:, mode]))
    return new / read


def cycles(launch, counts):
    """Optimistic and pessimistic cycles of a multiprocessor for a nonzero."""
    instructions = counts["instructions"] / SCHEDULERS
    shared, loads, additions = counts["shared wavefronts"], counts["sectors"], counts["sectors of additions"]
    l1 = shared + (loads + additions) * SECTOR / L1_BYTES
    number_bytes = 4 if launch.precision == "mixed" else 8
    factors = sum(SHAPES[launch.name.removesuffix("_mixed")][1:]) * launch.rank * number_bytes
    beyond_l2 = max(0.0, 1 - L2_CAPACITY / factors)
    block_frames = launch.threads // 32
    new = shared_rows(launch, block_frames)
    bytes_of_l2 = loads * SECTOR
    optimistic = max(instructions, l1, bytes_of_l2 * new / L2_BYTES, bytes_of_l2 * new * beyond_l2 / MEMORY_BYTES,
                     additions / L2_SLICES)
    pessimistic = max(instructions + l1 + bytes_of_l2 / L2_BYTES, bytes_of_l2 * beyond_l2 / MEMORY_BYTES,
                      additions * NUMBERS_OF_SECTOR / L2_SLICES)
    return optimistic, pessimistic


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--dump-launch", required=True)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    import find_nvdisasm
    import kernel_cubins
    import launch_counts
    import recorded_launches
    import source_phases
    nvdisasm, reason = find_nvdisasm.find(arguments.nvcc, arguments.build)
    if nvdisasm is None:
        sys.exit(reason)
    folder = pathlib.Path(arguments.build) / "model"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([arguments.dump_launch, str(folder), "model"], check=True)
    launches, _, _ = recorded_launches.load(folder)
    kernels = kernel_cubins.load(arguments.nvcc, nvdisasm, ROOT, HERE / "probed_kernels.cu", arguments.build,
                                 {launch.kernel for launch in launches})
    phases = source_phases.SourcePhases(ROOT)
    print("| tensor | instructions | shared wavefronts | sectors | sectors of additions | optimistic | pessimistic |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for launch in launches:
        wrong, _, counts = launch.run(kernels[launch.kernel].program)
        if wrong:
            sys.exit(f"{launch.name}: {wrong}")
        found = launch_counts.entry(launch, kernels[launch.kernel], counts, phases)["per nonzero"]
        speeds = [CYCLES / number / 1e9 for number in cycles(launch, found)]
        columns = [found[name] for name in ("instructions", "shared wavefronts", "sectors", "sectors of additions")]
        print(f"| {launch.name} | " + " | ".join(f"{number:.1f}" for number in [*columns, *speeds]) + " |")


if __name__ == "__main__":
    main()
