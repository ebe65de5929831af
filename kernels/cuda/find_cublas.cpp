#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <glob.h>

#include <vector>

#include "kernels/cuda/cublas.hpp"

namespace blco::cuda {
namespace {

// Searched after the loader's path, in this order. Wheels for CUDA 12 and 13 have folders of different names.
constexpr const char* folders[] = {
    "/usr/local/cuda/lib64/",
    "/usr/local/cuda-*/lib64/",
    "/opt/cuda/lib64/",
    "~/.local/lib/python3*/site-packages/nvidia/*/lib/",
    "/usr/local/lib/python3*/*-packages/nvidia/*/lib/",
    "/usr/lib/python3*/*-packages/nvidia/*/lib/",
    "/opt/*/lib/python3*/site-packages/nvidia/*/lib/",
};

template <class Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

std::optional<CublasCalls> calls_of(void* library) {
  CublasCalls calls;
  const bool all = find(library, "cublasCreate_v2", calls.create) && find(library, "cublasDestroy_v2", calls.destroy) &&
                   find(library, "cublasSetStream_v2", calls.set_stream) &&
                   find(library, "cublasSetWorkspace_v2", calls.set_workspace) &&
                   find(library, "cublasSetPointerMode_v2", calls.set_pointer_mode) &&
                   find(library, "cublasGetStatusString", calls.get_status_string) &&
                   find(library, "cublasDgemmStridedBatched", calls.gemm_strided_batched) &&
                   find(library, "cublasDsyrk_v2", calls.syrk) && find(library, "cublasDtrsm_v2", calls.trsm) &&
                   find(library, "cublasDdot_v2", calls.dot);
  return all ? std::optional(calls) : std::nullopt;
}

// The name itself, for the loader to find, then every file of that name in the folders.
std::vector<std::string> candidates(const std::string& name) {
  std::vector<std::string> paths{name};
  for (const char* folder : folders) {
    glob_t found{};
    if (glob((folder + name).c_str(), GLOB_TILDE, nullptr, &found) == 0) {
      paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
  return paths;
}

}  // namespace

CublasSearch find_cublas() {
  constexpr int toolkit = CUDART_VERSION / 1000;
  const std::string not_found = "was not found";
  std::string failure = not_found;
  for (const int version : {toolkit, toolkit - 1}) {
    const std::string name = "libcublas.so." + std::to_string(version);
    for (const std::string& path : candidates(name)) {
      void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
      const auto calls = library != nullptr ? calls_of(library) : std::nullopt;
      if (calls) return {calls, {}};
      const bool is_there = library != nullptr || path != name;
      if (is_there && failure == not_found) failure = std::string("does not load: ") + dlerror();
    }
  }
  return {std::nullopt, "cuBLAS " + std::to_string(toolkit) + ", which the GPU needs for dense matrices, " + failure +
                            "; install the CUDA toolkit or Python's package nvidia-cublas, or name the library's "
                            "folder in LD_LIBRARY_PATH"};
}

}  // namespace blco::cuda
