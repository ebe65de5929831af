// The processes of one job, where a launcher such as mpirun has started several.
#pragma once

#include <blco/compute.hpp>
#include <blco/peers.hpp>
#include <filesystem>

#include "tools/programs/cli.hpp"

namespace blco::cli {

class Processes {
 public:
  // Looks at what the launcher has put into the environment. `line` gets --peer-timeout.
  explicit Processes(CommandLine& line);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Whether this one is not the first: it says nothing, writes nothing, and serves.
  bool is_helper() const { return rank_ > 0; }
  // Joins the others, if there are any, and tells `compute` of them. Throws Error: not_built, io.
  void join(Compute& compute);
  // For a helper: serves until the first process is done. `tensor` is the container.
  void serve(const std::filesystem::path& tensor, const Compute& compute);
  // At the end of main(): takes leave of the others, or ends all of them if the code tells of a failure.
  int end(int exit_code);

 private:
  struct Module;

  int rank_ = 0;
  int size_ = 1;
  const char* mpi_ = "";  // which
  double timeout_seconds_ = 60;
  Module* module_ = nullptr;
  Peers* peers_ = nullptr;
};

}  // namespace blco::cli
