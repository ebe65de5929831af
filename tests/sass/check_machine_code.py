#!/usr/bin/env python3
"""Runs the machine code of MTTKRP, TTMc and loss passes on frames that the library packed, compares the results with
numpy, what they executed with counts.json, and loss passes to all modes with as many MTTKRPs. Exits with 77 where nvcc,
nvdisasm or numpy is missing.

usage: check_machine_code.py --nvcc=PATH --dump-launch=PATH --build=FOLDER [--record] [--table] [CASE...]
"""
import argparse
import pathlib
import subprocess
import sys
import time

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COUNTED_NNZ = 512  # of smaller launches the counts say little
PLANTED_IN = "turns_of_one_block"
FRAME_STEP = 3  # of the single frames, every so many


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="", help="the CUDA compiler")
    parser.add_argument("--dump-launch", default="", help="the program dump_launch")
    parser.add_argument("--build", required=True, help="folder for cubins and recorded launches")
    parser.add_argument("--record", action="store_true", help="write counts.json anew")
    parser.add_argument("--table", action="store_true", help="print the counts of every phase")
    parser.add_argument("cases", nargs="*", help="only these, or those that begin so")
    return parser.parse_args()


def find_tools(arguments):
    """The path of nvdisasm. Skips where something is missing."""
    if not arguments.nvcc or not pathlib.Path(arguments.nvcc).exists() or not arguments.dump_launch:
        skip("built without CUDA: no nvcc was found")
    try:
        import numpy  # noqa: F401  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        skip(f"{sys.executable} has no numpy: tools/install_dependencies.sh --tests")
    import find_nvdisasm
    nvdisasm, reason = find_nvdisasm.find(arguments.nvcc, arguments.build)
    if nvdisasm is None:
        skip(reason)
    return nvdisasm


def run_launch(launch, kernels, phases):
    """(what is wrong or None, one line of result, entry for counts.json or None)."""
    import launch_counts
    if launch.kernel not in kernels:
        return f"{launch.kernel} is launched, but probed_kernels.cu does not instantiate it", "", None
    kernel = kernels[launch.kernel]
    wrong, error, counts = launch.run(kernel.program)
    entry = launch_counts.entry(launch, kernel, counts, phases) if launch.nnz >= COUNTED_NNZ else None
    return wrong, f"{counts.instructions.sum()} warp instructions, largest error {error:.1e}", entry


def main():
    arguments = parse_arguments()
    build = pathlib.Path(arguments.build)
    build.mkdir(parents=True, exist_ok=True)
    nvdisasm = find_tools(arguments)
    import kernel_cubins
    import launch_counts
    import planted_faults
    import recorded_launches
    import source_phases

    begin = time.process_time()
    subprocess.run([arguments.dump_launch, str(build)], check=True)
    def is_wanted(launch):
        return not arguments.cases or any(launch.name.startswith(case) for case in arguments.cases)

    launches, losses, frames = recorded_launches.load(build)
    launches, losses = list(filter(is_wanted, launches)), list(filter(is_wanted, losses))
    kernels = kernel_cubins.load(arguments.nvcc, nvdisasm, ROOT, HERE / "probed_kernels.cu", build,
                                 {launch.kernel for launch in [*launches, *losses]})
    phases = source_phases.SourcePhases(ROOT)
    problems, entries = [], {}
    for launch in [*launches, *losses]:
        wrong, result, entry = run_launch(launch, kernels, phases)
        print(f"{launch.name}: {wrong or result}", flush=True)
        if wrong:
            problems.append(f"{launch.name}: {wrong}")
        if entry:
            entries[launch.name] = entry

    problems += launch_counts.put_beside({launch.name: launch.beside for launch in losses}, entries)
    if not arguments.cases:
        [kernel] = kernel_cubins.load(arguments.nvcc, nvdisasm, ROOT, ROOT / "tests/blco/frame_lanes_kernel.cu",
                                      build).values()
        wrong, number = frames.run(kernel.program, FRAME_STEP)
        print(wrong or f"frames: {number} decoded")
        problems += [wrong] if wrong else []
        small = next(launch for launch in launches if launch.name == PLANTED_IN)
        if not problems:
            problems += planted_faults.check(kernel.program, frames, kernels[small.kernel].program, small)

    if arguments.table:
        print(launch_counts.table(entries))
    version = kernel_cubins.nvcc_version(arguments.nvcc)
    if arguments.record and not problems:
        launch_counts.write(HERE / "counts.json", version, entries, keep_others=bool(arguments.cases))
    elif not arguments.record:
        problems += launch_counts.compare(HERE / "counts.json", version, entries,
                                          is_whole=not arguments.cases)
    print("\n".join(problems) or f"{len(launches) + len(losses)} launches agree; "
          f"{time.process_time() - begin:.0f} s of this process")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
