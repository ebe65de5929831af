// What an MPI launcher, such as mpirun, has put into the environment of a process.
#pragma once

namespace blco::cli {

struct Launcher {
  int size = 1;                 // processes that it has started
  int rank = 0;                 // of this one
  const char* mpi = "openmpi";  // or mpich
  const char* size_name = "";   // the variable that has the size
};

Launcher find_launcher();

// Where all processes fail, the first one says so. Another one waits here before it ends, because its launcher then
// ends the first.
void wait_for_first();

}  // namespace blco::cli
