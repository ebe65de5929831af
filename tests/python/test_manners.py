"""The module as a guest: types for mypy, nothing left behind by many rounds, children of a fork, and memory budgets."""
import os
import pathlib
import subprocess
import sys

import pytest

import blco


def run_script(script, *arguments):
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)


USER = """
import blco
import numpy as np

tensor: blco.Tensor = blco.tensor(np.zeros((1, 2), dtype=np.int64), 1, shape=(3, 4), labels=[["a", "b", "c"], None])
stored = blco.ingest("in.csv", "out.blco", modes=["a", "b:day"], missing="skip", memory="1GiB")
model: blco.Model = blco.fit_cpd(stored, 3, nonnegative=True, callback=lambda sweep: sweep.fit < 0.9)
rows: np.ndarray = model.factors[0]
took = blco.plan(stored, 3, hold=0, resume="in.ckpt").host_bytes
choice: int | None = blco.fit_ranks(stored, [1, 2], starts=3, callback=lambda sweep: True).choice
shared: blco.Model = blco.fit_cpd(stored, 3, comm=object())
error: Exception = blco.InvalidArgument("what")
"""

MISUSE = """
import blco

blco.fit_cpd("in.blco", 3)
blco.tensor([[0, 1]], shape="3 4")
blco.ingest("in.csv", "out.blco", modez=["a"])
blco.fit_cpd(blco.open("in.blco"), 3, "asl")
blco.fit_cpd(blco.open("in.blco"), 3, "gcp", loss="poison")
blco.CPD(rnk=3)
blco.CPD(hold=0)
blco.fit_ranks(blco.open("in.blco"), [1, 2], comm=object())
blco.plan(blco.open("in.blco"), 2, comm=object())
blco.plan(blco.open("in.blco"), 2, progress=True)
"""


@pytest.fixture
def mypy(tmp_path):
    """Runs mypy on a text, with the module as it is installed."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    installed = pathlib.Path(blco.__file__).parents[1]
    place = {} if installed.name == "site-packages" else {"MYPYPATH": str(installed)}  # mypy looks there by itself

    def run(text):
        (tmp_path / "user.py").write_text(text)
        return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", tmp_path / "user.py"],
                              capture_output=True, text=True, env=os.environ | place).stdout

    return run


def test_mypy_knows_the_types_of_the_module(mypy):
    assert "Success" in mypy(USER)


def test_mypy_finds_what_does_not_fit(mypy):
    found = [line.split(":")[1] for line in mypy(MISUSE).splitlines() if ": error: " in line]

    assert found == [str(line) for line in range(4, 14)]


ROUNDS = """
import gc, os, sys
import numpy as np
import blco

random = np.random.default_rng(1)
coords = np.stack([random.integers(0, length, 3000) for length in (30000, 40, 30)], axis=1)
path = os.path.join(sys.argv[1], "in.blco")
blco.ingest(coords, path, values=random.uniform(1, 2, 3000), shape=(30000, 40, 30))

def stop(sweep):
    raise KeyError("enough")

def work():
    tensor = blco.open(path)
    model = blco.fit_cpd(tensor, 8, max_sweeps=2, threads=2, callback=lambda sweep: True)  # 2 MB of factors
    model.save(os.path.join(sys.argv[1], "model.h5"))
    blco.load(os.path.join(sys.argv[1], "model.h5")).predict(coords[:9])
    blco.fit_tucker(tensor, (2, 2, 2), max_sweeps=1, threads=2)
    blco.tensor(tensor.coords, tensor.values)
    try:
        blco.fit_cpd(tensor, 8, threads=2, callback=stop)
    except KeyError:
        pass
    try:
        blco.ingest([[0, -1]], path + ".bad", values=1)
    except blco.InvalidArgument:
        pass

def held():
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    objects = sum(str(type(one)).startswith("<class 'blco") for one in gc.get_objects())
    return pages * os.sysconf("SC_PAGESIZE"), len(os.listdir("/proc/self/fd")), objects

def count(rounds):
    for _ in range(rounds):
        work()
    return held()

before = count(15)
after = count(30)
print(after[0] - before[0], after[1] - before[1], after[2] - before[2])
"""


@pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="no /proc to look at")
def test_many_rounds_leave_no_memory_files_or_objects_behind(tmp_path):
    done = run_script(ROUNDS, tmp_path)

    assert done.returncode == 0, done.stderr
    grown, files, objects = map(int, done.stdout.split())
    # 30 models that stay would be 58 MB.
    assert grown < 20 * 2**20
    assert files == 0 and objects == 0


FORKS = """
import os, sys
import numpy as np
import blco

path = sys.argv[1]
tensor = blco.open(path)
expected = blco.fit_cpd(tensor, 3, max_sweeps=3, threads=2, deterministic=True)

def child():
    model = blco.fit_cpd(blco.open(path), 3, max_sweeps=3, threads=2, deterministic=True)
    same = all(np.array_equal(a, b) for a, b in zip(model.factors, expected.factors))
    inherited = blco.fit_cpd(tensor, 3, max_sweeps=3, threads=2, deterministic=True)
    return 0 if same and inherited.fit == expected.fit else 3

def fork():
    pid = os.fork()
    if pid == 0:
        code = 4
        try:
            code = child()
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

fork()
model = blco.fit_cpd(tensor, 3, max_sweeps=3, threads=2, deterministic=True,
                     callback=lambda sweep: sweep.sweep == 2 and fork() or True)
print(model.fit == expected.fit)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_opens_and_fits_even_one_of_a_running_fit(entries, tmp_path):
    blco.ingest(entries.coords, tmp_path / "in.blco", values=entries.values, chunk_nnz=40)

    done = run_script(FORKS, tmp_path / "in.blco")

    assert done.stdout.split() == ["0", "0", "True"], done.stderr


WITHIN = """
import pathlib, sys
import numpy as np
import pyarrow
import blco

rows, parts = 100_000, 40

def columns(random):
    return {name: random.integers(0, length, rows) for name, length in (("a", 50000), ("b", 4000), ("c", 300))}

def batches():
    random = np.random.default_rng(1)
    for _ in range(parts):
        yield pyarrow.record_batch(columns(random) | {"n": np.ones(rows)})

def resident(what):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))

first = next(batches())
if sys.argv[1] == "stream":
    source = pyarrow.RecordBatchReader.from_batches(first.schema, batches())
    options = {"modes": ["a", "b", "c"], "value": "n"}
else:
    random = np.random.default_rng(1)
    coords = np.empty((parts * rows, 3), np.int64)
    for part in range(parts):
        coords[part * rows:(part + 1) * rows] = np.stack(list(columns(random).values()), axis=1)
    source, options = coords, {"values": np.ones(len(coords))}
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
tensor = blco.ingest(source, sys.argv[2], memory="64MiB", threads=2, **options)
print(resident("VmHWM") - before, tensor.report["entries_read"])
"""


@pytest.mark.skipif(not pathlib.Path("/proc/self/clear_refs").exists(), reason="no /proc to look at")
@pytest.mark.parametrize("source", ["stream", "arrays"])
def test_an_ingest_of_122_mib_stays_within_64(source, tmp_path):
    pytest.importorskip("pyarrow")

    done = run_script(WITHIN, source, tmp_path / "out.blco")

    assert done.returncode == 0, done.stderr
    grown, entries = map(int, done.stdout.split())
    # A batch, code that is loaded, and what the allocator keeps count too.
    assert entries == 4_000_000 and grown < 80 * 2**20


AT_ITS_END = """
import threading, time
import blco

tensor = blco.tensor([[n % 7, n % 5, n % 3] for n in range(100)], 1)
begun = threading.Event()
fit = lambda: blco.fit_cpd(tensor, 2, threads=1, tolerance=0, max_sweeps=10**7, callback=lambda sweep: begun.set())
threading.Thread(target=fit, daemon=True).start()
begun.wait()
print("ends")
"""


def test_the_interpreter_may_end_while_a_daemon_thread_fits():
    ended = run_script(AT_ITS_END)

    assert (ended.returncode, ended.stdout) == (0, "ends\n"), ended.stderr


WITHIN_ANOTHER = """
import _xxsubinterpreters as interpreters
interpreters.run_string(interpreters.create(), "import blco")
print("imported")
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="NumPy refuses interpreters within others from 3.12 on")
def test_an_interpreter_within_another_may_import_it():
    done = run_script(WITHIN_ANOTHER)

    assert (done.returncode, done.stdout) == (0, "imported\n"), done.stderr


def test_a_star_keeps_what_python_calls_open():
    star = run_script("from blco import *; print(open.__module__.strip('_'), CPD.__name__, tensor.__module__)")

    assert star.stdout.split() == ["io", "CPD", "blco._tensor"], star.stderr


def test_importing_blco_does_not_import_scikit_learn():
    done = run_script("import sys, blco; print('sklearn' in sys.modules); blco.CPD; print('sklearn' in sys.modules)")

    assert done.stdout.split()[0] == "False", done.stderr
