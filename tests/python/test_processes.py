"""Fits that several processes share, here threads that send each other bytes."""
import queue
import sys
import threading
import types

import blco
import numpy as np
import pytest


class Threads:
    """A communicator of `size` threads."""

    def __init__(self, size):
        self.boxes = {(one, other): queue.Queue() for one in range(size) for other in range(size)}
        self.size = size

    def of(self, rank):
        return Comm(self, rank)


class Comm:
    def __init__(self, threads, rank):
        self.rank, self.size, self.neighbours = rank, threads.size, threads.size
        self._boxes = threads.boxes

    def send(self, to, message):
        assert isinstance(message, bytes)
        self._boxes[self.rank, to].put(message)

    def receive(self, source):
        return self._boxes[source, self.rank].get(timeout=60)


@pytest.fixture
def chunked(tmp_path, entries):
    return blco.ingest(entries.coords, tmp_path / "in.blco", values=entries.values, chunk_nnz=100)


def fit_with_threads(tensor, size, **options):
    threads, results = Threads(size), {}

    def run(rank):
        results[rank] = blco.fit_cpd(tensor, threads=1, comm=threads.of(rank), **options)

    helpers = [threading.Thread(target=run, args=(rank,)) for rank in range(1, size)]
    for helper in helpers:
        helper.start()
    try:
        return blco.fit_cpd(tensor, threads=1, comm=threads.of(0), **options), results
    finally:
        for helper in helpers:
            helper.join(timeout=60)
            assert not helper.is_alive()


def test_processes_give_the_model_of_one(chunked):
    options = {"rank": 3, "max_sweeps": 4, "tolerance": 0}
    alone = blco.fit_cpd(chunked, threads=1, **options)
    shared, results = fit_with_threads(chunked, 3, **options)
    assert results == {1: None, 2: None}
    assert shared.fit == pytest.approx(alone.fit, rel=1e-12)
    for one, other in zip(shared.factors, alone.factors):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_error_ends_the_other_processes(chunked):
    with pytest.raises(blco.InvalidArgument, match="rank"):
        fit_with_threads(chunked, 2, rank=5000)


def test_an_exception_of_the_communicator_ends_the_fit(chunked):
    class Broken:
        rank, size, neighbours = 0, 2, 1

        def send(self, to, message):
            raise RuntimeError("the cable is out")

    with pytest.raises(OSError, match="comm: .*the cable is out"):
        blco.fit_cpd(chunked, rank=2, comm=Broken())


class MachineComm:
    """What mpi4py's communicator says of one of the processes of a machine, whose variables are in `visible`."""

    def __init__(self, visible, rank):
        self.visible, self.rank, self.is_freed = visible, rank, False

    def Dup(self):
        return self

    def Split_type(self, kind):
        assert kind == "shared"
        return self

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return len(self.visible)

    def allgather(self, own):
        assert own == self.visible[self.rank]
        return list(self.visible)

    def Free(self):
        self.is_freed = True


@pytest.mark.parametrize(
    "visible, expected",
    [
        ([""] * 4, [(4, 0), (4, 1), (4, 2), (4, 3)]),
        (["0", "1", "2"], [(1, 0), (1, 0), (1, 0)]),
        (["0,1", "2,3", "0,1", "2,3"], [(2, 0), (2, 0), (2, 1), (2, 1)]),
    ],
    ids=["as many as see all", "one each", "two of two"],
)
def test_processes_of_a_machine_take_gpus_in_turn(monkeypatch, visible, expected):
    from blco._peers import peers_of

    monkeypatch.setitem(
        sys.modules, "mpi4py", types.SimpleNamespace(MPI=types.SimpleNamespace(COMM_TYPE_SHARED="shared")))
    for rank, turn in enumerate(expected):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible[rank])
        comm = MachineComm(visible, rank)
        peers = peers_of(comm)
        assert (peers.gpu_sharers, peers.gpu_rank) == turn
        assert peers.neighbours == len(visible) and comm.is_freed


def test_the_engine_asks_a_communicator_for_its_turn(chunked):
    asked = []

    class Asked(Comm):
        @property
        def gpu_sharers(self):
            asked.append("sharers")
            return 1

        @property
        def gpu_rank(self):
            asked.append("rank")
            return 0

    blco.fit_cpd(chunked, rank=2, max_sweeps=1, comm=Asked(Threads(1), 0))
    assert set(asked) == {"sharers", "rank"}
