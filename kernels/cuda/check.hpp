// Turns CUDA runtime errors into Errors that name the call.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "blco/error.hpp"

namespace blco::cuda {

// Throws Error{cuda} "<call>: <the runtime's message>", or Error{out_of_memory}.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const bool memory = status == cudaErrorMemoryAllocation;
  static_cast<void>(cudaGetLastError());
  throw Error(memory ? ErrorKind::out_of_memory : ErrorKind::cuda,
              std::string(call) + ": " + cudaGetErrorString(status));
}

}  // namespace blco::cuda
