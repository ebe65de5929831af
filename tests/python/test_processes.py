"""Fits that several processes share, here threads that send each other bytes."""
import queue
import threading

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
