"""Several processes share a fit under the launchers of Open MPI and MPICH, where these are installed.

usage: check_processes.py BIN_FOLDER [MOMENTS]     at how many random moments each harm is done; 4 by default

Every method, of Tucker models too, has the fit and the model of one process; a process that is killed or stopped ends
the job soon, with a failure and nothing half-written, and its checkpoint can be resumed by another number of processes.
Under the second MPI, whose module is compiled from the same source, there are fewer cases, with every harm and every
process.
"""
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from blco_commands import Commands, skip
from method_jobs import METHOD_JOBS, fit_arguments, make_method_tensors

RANK, SWEEPS, CHUNK = 4, 3, 8192
MOST_SECONDS = 10  # from the end of a process to that of the job
PROCESSES = 4
HARMS = ("kill", "stop", "disk")
# As root, on fewer processors than processes, which must not poll.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
               "OMPI_MCA_mpi_yield_when_idle": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def launchers(bin_folder):
    found = []
    for mpi in ("openmpi", "mpich"):
        launcher = shutil.which(f"mpirun.{mpi}")
        if launcher and (bin_folder / f"libblco_{mpi}.so").exists():
            found.append(launcher)
    return found


class Launcher:
    def __init__(self, program, bin_folder):
        self.program, self.bin_folder = program, bin_folder

    def start(self, name, processes, *arguments):
        command = [self.program, "-n", str(processes), str(self.bin_folder / name), *map(str, arguments)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env=os.environ | ENVIRONMENT)

    def run(self, name, processes, *arguments):
        job = self.start(name, processes, *arguments)
        output, _ = job.communicate(timeout=300)
        return job.returncode, output


def process_of(job, name_of_program, rank):
    """The process id of that rank of the program below the launcher."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, fields = (folder / "stat").read_text().rsplit(")", 1)
                words = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            ranks = [word.split(b"=")[1] for word in words if word.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="))]
            parents[int(folder.name)] = (int(fields.split()[1]), name.split("(", 1)[1], ranks)
    for process, (parent, name, ranks) in parents.items():
        while parent in parents and parent != job.pid:
            parent = parents[parent][0]
        if parent == job.pid and name == name_of_program and ranks == [str(rank).encode()]:
            return process
    sys.exit(f"no process of rank {rank} was found")


def score(commands, one, other):
    """The factor match score of two models, as blco-info prints it."""
    output, _ = commands.run("blco-info", one, "--compare", other)
    return float(next(line for line in output.splitlines() if line.startswith("score")).split()[1].rstrip(":"))


def history(commands, model):
    """The fit or the objective after each sweep."""
    output, _ = commands.run("blco-info", model, "--json")
    result = json.loads(output)
    return result["fit_history"] + result["objective_history"]


def check_methods(commands, launcher, tensors, work, numbers):
    for name in METHOD_JOBS:
        one, several = work / "one.h5", work / "several.h5"
        commands.run("blco-cpd", *fit_arguments(name, tensors, RANK, SWEEPS), "-o", one)
        expected = history(commands, one)
        for processes in numbers:
            code, output = launcher.run("blco-cpd", processes, *fit_arguments(name, tensors, RANK, SWEEPS),
                                        "-o", several)
            if code != 0:
                sys.exit(f"{name}, {processes} processes: ended with {code}:\n{output}")
            actual = history(commands, several)
            alike = [math.isclose(a, b, rel_tol=1e-10, abs_tol=1e-12) for a, b in zip(actual, expected, strict=True)]
            if not expected or not all(alike):
                sys.exit(f"{name}: the fit of {processes} processes is another one: {actual}, not {expected}")
            if score(commands, one, several) < 0.9999:
                sys.exit(f"{name}: the model of {processes} processes is another one")
            several.unlink()
    print(f"{pathlib.Path(launcher.program).name}: every method has the fit and the model of one process", flush=True)


def tucker_arguments(tensors, sweeps, *more):
    return [tensors / "counts.blco", "--ranks", RANK, "--sweeps", sweeps, "--tolerance", 0, "--threads", 1,
            "--devices", "cpu", "--quiet", *more]


def check_tucker(commands, launcher, tensors, work, numbers):
    for options in (["--method", "hooi"], ["--method", "hoqri"], ["--method", "hooi", "--start", "nvecs"]):
        one, several = work / "one.h5", work / "several.h5"
        commands.run("blco-tucker", *tucker_arguments(tensors, SWEEPS, *options), "-o", one)
        expected = json.loads(commands.run("blco-info", one, "--json")[0])
        for processes in numbers:
            code, output = launcher.run("blco-tucker", processes, *tucker_arguments(tensors, SWEEPS, *options),
                                        "-o", several)
            if code != 0:
                sys.exit(f"{options}, {processes} processes: ended with {code}:\n{output}")
            actual = json.loads(commands.run("blco-info", several, "--json")[0])
            if actual["sweeps"] != SWEEPS or not math.isclose(actual["fit"], expected["fit"], rel_tol=1e-10):
                sys.exit(f"{options}: the model of {processes} processes is another one: {actual}, not {expected}")
            beside = json.loads(commands.run("blco-info", one, "--compare", several, "--json")[0])
            if max(angle for mode in beside["modes"] for angle in mode["angles"]) > 1e-6:
                sys.exit(f"{options}: the matrices of {processes} processes span other spaces: {beside}")
            several.unlink()
    print(f"{pathlib.Path(launcher.program).name}: every Tucker model is that of one process", flush=True)


def expect_one_message(launcher, processes, code, words, *arguments):
    actual, output = launcher.run("blco-cpd", processes, *arguments)
    said = [line for line in output.splitlines() if line.startswith("blco-cpd: ")]
    if actual != code or len(said) != 1 or words not in said[0]:
        sys.exit(f"{arguments}: expected one message with '{words}' and {code}, not {actual}:\n{output}")


def check_messages(launcher, tensors, work):
    tensor, model = tensors / "counts.blco", work / "never.h5"
    expect_one_message(launcher, 3, 2, "unknown argument", tensor, "--nonsense")
    expect_one_message(launcher, 3, 3, "cannot open", tensors / "none.blco", "--rank", 2, "-o", model)
    expect_one_message(launcher, 2, 5, "requires at least", tensor, "--rank", 2, "-o", model, "--memory", "1M")
    # The second process has another tensor.
    expect_one_message(launcher, 1, 2, "another one", tensor, "--rank", 2, "-o", model, ":", "-n", 1,
                       launcher.bin_folder / "blco-cpd", tensors / "ones.blco", "--rank", 2, "-o", model)


def check_other_programs(launcher, tensors, work):
    """Those that do not share their work say so once, and leave an older output as it is."""
    tensor, output = tensors / "counts.blco", work / "output"
    output.write_text("older")
    for name, *arguments in (("blco-ingest", tensor, "-o", output), ("blco-info", tensor, "--report", output),
                             ("blco-gen", "--shape", "9x9", "--nnz", 9, "-o", output)):
        job = launcher.start(name, 3, *arguments)
        text, _ = job.communicate(timeout=60)
        said = [line for line in text.splitlines() if line.startswith(f"{name}: ")]
        if job.returncode == 0 or len(said) != 1 or "3 processes" not in said[0] or output.read_text() != "older":
            sys.exit(f"{name} under a launcher of three processes ended with {job.returncode}:\n{text}")


class FourProcesses:
    """A fit of four processes, each with a container of its own, which it reads from disk again in every pass."""

    def __init__(self, launcher, program, options, tensors, work):
        self.launcher, self.program, self.options, self.work = launcher, program, options, work
        self.model, self.checkpoint = work / "model.h5", work / "checkpoint.h5"
        self.containers = [work / f"counts-{rank}.blco" for rank in range(PROCESSES)]
        self.whole = (tensors / "counts.blco").read_bytes()
        # The least memory of each, which messages name.
        self.memory = ["1MiB"] * PROCESSES
        self.restore()
        seconds = 1
        while not self.model.exists():
            output, _ = self.start("--time-limit", f"{seconds}s").communicate(timeout=60 + seconds)
            short = re.search(r"(?:process (\d) of \d: )?this job requires .* give at least --memory (\w+)", output)
            if short:
                self.memory[int(short[1] or 0)] = short[2]
            elif seconds < 60:  # the first sweep may take longer on a busy machine
                seconds *= 3
            else:
                sys.exit(f"four processes have fitted no model:\n{output}")
        self.model.unlink()
        self.checkpoint.unlink()

    def restore(self):
        for container in self.containers:
            container.write_bytes(self.whole)

    def start(self, *options):
        words = []
        for container, memory in zip(self.containers, self.memory):
            words += [":", "-n", 1, self.launcher.bin_folder / self.program] if words else []
            words += [container, *self.options, "--memory", memory, "-o", self.model, "--checkpoint", self.checkpoint,
                      "--peer-timeout", "3s", *options]
        return self.launcher.start(self.program, 1, *words)

    def harm(self, job, rank, harm):
        if harm == "disk":
            os.truncate(self.containers[rank], 100)
        else:
            os.kill(process_of(job, self.program, rank), signal.SIGSTOP if harm == "stop" else signal.SIGKILL)


def check_ends(commands, fit, draw, harms):
    """One of four processes, each in turn, is killed, stopped, or loses its file, at a random moment."""
    for rank, harm in harms:
        words = {"kill": "", "stop": f"process {rank} of {PROCESSES}", "disk": f"counts-{rank}.blco"}[harm]
        job = fit.start()
        while not fit.checkpoint.exists():
            if job.poll() is not None:
                sys.exit(f"the job ended by itself:\n{job.communicate()[0]}")
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 0.5))
        fit.harm(job, rank, harm)
        begin = time.monotonic()
        output, _ = job.communicate(timeout=60)
        seconds = time.monotonic() - begin
        if job.returncode == 0 or fit.model.exists() or seconds > MOST_SECONDS or words not in output:
            sys.exit(f"{harm} of process {rank}: the job ended with {job.returncode} in {seconds:.1f} s:\n{output}")
        check_resumed(commands, fit)
    print(f"{pathlib.Path(fit.launcher.program).name}: {len(harms)} processes of {fit.program} killed, stopped or "
          "without a disk, each job ended", flush=True)


def check_resumed(commands, fit):
    """It goes on with another number of processes, from a whole checkpoint, and leaves nothing."""
    fit.restore()
    commands.run("blco-info", fit.checkpoint)
    code, output = fit.launcher.run(fit.program, 2, fit.containers[0], "--resume", fit.checkpoint, "--sweeps", 100000,
                                    "--tolerance", 0, "--time-limit", "0.3s", "--threads", 1, "-o", fit.model)
    if code != 0:
        sys.exit(f"the checkpoint cannot be resumed:\n{output}")
    fit.model.unlink()
    fit.checkpoint.unlink()
    left = [path.name for path in fit.work.iterdir() if path.name.endswith(".blco-tmp")]
    if len(left) > 1:
        sys.exit(f"more than the killed job's file is left: {left}")


def main():
    bin_folder = pathlib.Path(sys.argv[1])
    moments = int(sys.argv[2]) if len(sys.argv) > 2 else PROCESSES
    found = launchers(bin_folder)
    if not found:
        skip("no MPI: install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev")
    commands = Commands(bin_folder)
    draw = random.Random(8)
    with tempfile.TemporaryDirectory(prefix="blco-processes-") as name:
        tensors, work = pathlib.Path(name) / "tensors", pathlib.Path(name) / "work"
        tensors.mkdir()
        work.mkdir()
        make_method_tensors(commands.run, tensors, (60, 70, 80), 40000, CHUNK)
        every_harm = [(moment % PROCESSES, harm) for moment in range(moments) for harm in HARMS]
        one_harm_each = [(rank, HARMS[rank % len(HARMS)]) for rank in range(PROCESSES)]
        for program in found:
            launcher, is_first = Launcher(program, bin_folder), program == found[0]
            check_methods(commands, launcher, tensors, work, (2, 3, 8) if is_first else (3,))
            check_tucker(commands, launcher, tensors, work, (2, 3, 8) if is_first else (3,))
            check_messages(launcher, tensors, work)
            check_other_programs(launcher, tensors, work)
            cpd = FourProcesses(launcher, "blco-cpd", fit_arguments("als", tensors, RANK, 100000)[1:], tensors, work)
            check_ends(commands, cpd, draw, every_harm if is_first else one_harm_each)
            tucker = FourProcesses(launcher, "blco-tucker", tucker_arguments(tensors, 100000)[1:], tensors, work)
            check_ends(commands, tucker, draw, one_harm_each)


if __name__ == "__main__":
    main()
