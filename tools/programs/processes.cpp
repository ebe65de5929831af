#include "tools/programs/processes.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <blco/tensor_file.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tools/mpi/mpi_peers.hpp"

namespace blco::cli {
namespace {

// In a build folder and where it is installed.
std::vector<std::filesystem::path> places_of_module(const std::string& name) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  return {folder / name, folder / ".." / BLCO_MODULE_FOLDER / name};
}

}  // namespace

struct Processes::Module {
  decltype(&blco_join_mpi) join;
  decltype(&blco_leave_mpi) leave;
  decltype(&blco_abort_mpi) abort;
};

Processes::Processes(CommandLine& line) : line_(line), launcher_(find_launcher()) {
  line.share_work();
  line.add("--peer-timeout", timeout_seconds_, parse_duration,
           {"TIME", "Under mpirun: end the job once one of its processes has shown no life for so long", "60s"});
}

Processes::~Processes() = default;

void Processes::join(Compute& compute) {
  const std::string name = fmt::format("libblco_{}.so", launcher_.mpi);
  void* library = nullptr;
  std::string failure = "there is none beside the program or among its libraries";
  for (const std::filesystem::path& place : places_of_module(name)) {
    if (library != nullptr || !std::filesystem::exists(place)) continue;
    // Open MPI looks for its own parts among the global names.
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) failure = dlerror();
  }
  if (library == nullptr) {
    if (is_helper()) wait_for_first();
    throw Error(ErrorKind::not_built,
                fmt::format("a launcher has started {} processes, but this build cannot load {}: {}; install "
                            "lib{}-dev and build blco again with -DBLCO_MPI=ON, or start one process",
                            launcher_.size, name, failure, launcher_.mpi));
  }
  module_ =
      std::make_unique<Module>(Module{reinterpret_cast<decltype(&blco_join_mpi)>(dlsym(library, "blco_join_mpi")),
                                      reinterpret_cast<decltype(&blco_leave_mpi)>(dlsym(library, "blco_leave_mpi")),
                                      reinterpret_cast<decltype(&blco_abort_mpi)>(dlsym(library, "blco_abort_mpi"))});
  peers_ = module_->join(timeout_seconds_);
  compute.peers = peers_;
  if (!is_helper()) return;
  // Launchers pass signals on to all processes. The first one ends the job, while the others serve on.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(signal, SIG_IGN);
}

void Processes::serve(const std::filesystem::path& tensor, const Compute& compute) {
  std::optional<TensorFile> file;
  blco::serve([&]() -> const Tensor& { return file ? *file : file.emplace(tensor); }, compute, *peers_);
}

void Processes::leave(int exit_code) {
  if (peers_ == nullptr) return;
  if (exit_code != exit_ok) {
    // A launcher passes on what has been printed, but not always after its job has been aborted.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    module_->abort(exit_code);
  }
  if (!is_helper()) dismiss(*peers_);
  module_->leave(std::exchange(peers_, nullptr));
}

int Processes::run(int argc, char** argv, const std::filesystem::path& tensor, Compute& compute,
                   const std::function<void()>& job) {
  // What is wrong with the command line, the first process says for all.
  if (is_helper()) line_.stay_silent(true);
  const int exit_code = line_.run(argc, argv, [&] {
    line_.stay_silent(false);
    if (launcher_.size > 1) join(compute);
    if (is_helper()) return serve(tensor, compute);
    job();
  });
  if (is_helper() && exit_code != exit_ok && peers_ == nullptr) wait_for_first();
  leave(exit_code);
  return exit_code;
}

}  // namespace blco::cli
