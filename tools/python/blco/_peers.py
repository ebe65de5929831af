"""Processes that share a fit, reached by mpi4py."""

from __future__ import annotations

import os
import time
from typing import Any


def _turn_at_gpus(of_machine: Any) -> tuple[int, int]:
    """How many processes of this machine share the GPUs that this one sees, and its number among them.

    Launchers part GPUs by a variable. Who is left one has it for itself; others share those of an equal value.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    everyone = of_machine.allgather(visible)
    if visible and "," not in visible:
        return 1, 0
    return everyone.count(visible), everyone[: of_machine.Get_rank()].count(visible)


class _MpiPeers:
    """Messages by a communicator of its own, so that they meet none of the caller's."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self._comm = comm.Dup()
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        of_machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.neighbours = of_machine.Get_size()
        self.gpu_sharers, self.gpu_rank = _turn_at_gpus(of_machine)
        of_machine.Free()

    def send(self, to: int, message: bytes) -> None:
        self._comm.send(message, dest=to)

    def receive(self, source: int) -> bytes:
        # MPI would wait by polling, which takes the processor of a neighbour.
        while not self._comm.iprobe(source=source):
            time.sleep(1e-4)
        return self._comm.recv(source=source)


def peers_of(comm: Any) -> Any:
    """What the extension takes."""
    return _MpiPeers(comm) if hasattr(comm, "Get_rank") else comm
