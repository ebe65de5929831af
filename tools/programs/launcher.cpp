#include "tools/programs/launcher.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace blco::cli {
namespace {

int number_in_environment(const char* name, int absent) {
  const char* const text = std::getenv(name);
  return text == nullptr ? absent : std::atoi(text);
}

}  // namespace

Launcher find_launcher() {
  // Open MPI's launcher; else MPICH's, and those that speak its protocol, such as srun --mpi=pmi2.
  const Launcher openmpi{number_in_environment("OMPI_COMM_WORLD_SIZE", 1),
                         number_in_environment("OMPI_COMM_WORLD_RANK", 0), "openmpi", "OMPI_COMM_WORLD_SIZE"};
  if (openmpi.size > 1) return openmpi;
  const Launcher mpich{number_in_environment("PMI_SIZE", 1), number_in_environment("PMI_RANK", 0), "mpich", "PMI_SIZE"};
  return mpich.size > 1 ? mpich : Launcher{};
}

void wait_for_first() { std::this_thread::sleep_for(std::chrono::seconds(3)); }

}  // namespace blco::cli
