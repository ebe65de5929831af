// What the module of an MPI offers; tools/programs/processes.cpp loads it.
#pragma once

#include <blco/peers.hpp>

// Joins the processes that the launcher has started. A wait for one that shows no life for so long throws Error{io}.
// Throws Error{io} if MPI cannot be used.
extern "C" blco::Peers* blco_join_mpi(double timeout_seconds);
// When all is well: waits for the others to do the same.
extern "C" void blco_leave_mpi(blco::Peers* peers);
// Ends all processes.
extern "C" void blco_abort_mpi(int exit_code);
