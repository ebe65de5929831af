// cuBLAS, loaded while a program runs: one that links it would not start where it is missing.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "blco/error.hpp"

namespace blco::cuda {

// The calls that blco makes.
struct CublasCalls {
  decltype(&cublasCreate) create = nullptr;
  decltype(&cublasDestroy) destroy = nullptr;
  decltype(&cublasSetStream) set_stream = nullptr;
  decltype(&cublasSetWorkspace) set_workspace = nullptr;
  decltype(&cublasSetPointerMode) set_pointer_mode = nullptr;
  decltype(&cublasGetStatusString) get_status_string = nullptr;
  decltype(&cublasDgemmStridedBatched) gemm_strided_batched = nullptr;
  decltype(&cublasDsyrk) syrk = nullptr;
  decltype(&cublasDtrsm) trsm = nullptr;
  decltype(&cublasDdot) dot = nullptr;
};

struct CublasSearch {
  std::optional<CublasCalls> calls;
  std::string reason;  // without calls: why not, and what to do, in one line
};

// Looks on the loader's path, in the usual folders of the CUDA toolkit, and among the packages of Python, where the
// wheels that PyTorch needs put it: first for the version of the toolkit that built this program, then for the one
// before. What is found stays loaded.
CublasSearch find_cublas();

// A handle of cuBLAS: queues its work on one stream, and uses a workspace of the caller's, aligned to 256 bytes, which
// with the stream outlives it.
class Cublas {
 public:
  // Throws Error{cuda}, also if cuBLAS is not found.
  Cublas(cudaStream_t stream, void* workspace, std::size_t workspace_bytes) {
    const CublasSearch found = find_cublas();
    if (!found.calls) throw Error(ErrorKind::cuda, found.reason);
    calls_ = *found.calls;
    cublasHandle_t handle = nullptr;
    check(calls_.create(&handle), "cublasCreate");
    handle_ = {handle, calls_.destroy};
    run("cublasSetStream", &CublasCalls::set_stream, stream);  // also forgets the workspace
    run("cublasSetWorkspace", &CublasCalls::set_workspace, workspace, workspace_bytes);
  }

  // Makes the call with this handle before the arguments. Throws Error{cuda}, or {out_of_memory}, "<name>: <cuBLAS's
  // message>".
  template <class... Parameters, class... Arguments>
  void run(const char* name, cublasStatus_t (*CublasCalls::*call)(cublasHandle_t, Parameters...),
           Arguments... arguments) const {
    check((calls_.*call)(handle_.get(), arguments...), name);
  }

 private:
  void check(cublasStatus_t status, const char* name) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
    throw Error(memory ? ErrorKind::out_of_memory : ErrorKind::cuda,
                std::string(name) + ": " + calls_.get_status_string(status));
  }

  CublasCalls calls_;
  std::unique_ptr<cublasContext, decltype(&cublasDestroy)> handle_{nullptr, nullptr};
};

}  // namespace blco::cuda
