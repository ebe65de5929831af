#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <utility>
#include <vector>

#include "kernels/cublas_files.hpp"
#include "kernels/cuda/cublas.hpp"

namespace blco::cuda {
namespace {

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

// The name itself, for the loader to find, then every file of that name where it usually lies.
std::vector<std::string> candidates(const std::string& name) {
  std::vector<std::string> paths{name};
  for (std::string& file : cublas_files(name)) paths.push_back(std::move(file));
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
