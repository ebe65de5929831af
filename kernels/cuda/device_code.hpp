// What this build has device code for.
#pragma once

#include <cuda_runtime.h>

#include <span>

namespace blco::cuda {

// The compute capabilities that nvcc compiles for, in machine code or in PTX alone: 100 for the major number, 10 for
// the minor.
std::span<const int> architectures();
// Whether this build has code that the current device runs; an error says why it has not.
cudaError_t find_code();

}  // namespace blco::cuda
