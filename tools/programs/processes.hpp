// The processes of one job, where a launcher such as mpirun has started several.
#pragma once

#include <blco/compute.hpp>
#include <blco/peers.hpp>
#include <filesystem>
#include <functional>
#include <memory>

#include "tools/programs/cli.hpp"
#include "tools/programs/launcher.hpp"

namespace blco::cli {

class Processes {
 public:
  // `line` gets --peer-timeout, and is told that its job shares its work.
  explicit Processes(CommandLine& line);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // CommandLine::run for a job on the container `tensor` by `compute`, which `line` fills: the first process does the
  // job, of which all others take a share. A failure ends all of them.
  int run(int argc, char** argv, const std::filesystem::path& tensor, Compute& compute,
          const std::function<void()>& job);

 private:
  struct Module;

  // Not the first one: it says nothing and writes nothing.
  bool is_helper() const { return launcher_.rank > 0; }
  void join(Compute& compute);
  void serve(const std::filesystem::path& tensor, const Compute& compute);
  void leave(int exit_code);

  CommandLine& line_;
  Launcher launcher_;
  double timeout_seconds_ = 60;
  std::unique_ptr<Module> module_;
  Peers* peers_ = nullptr;  // the module's
};

}  // namespace blco::cli
