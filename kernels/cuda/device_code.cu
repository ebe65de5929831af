#include <algorithm>

#include "kernels/cuda/device_code.hpp"

namespace blco {
namespace {

__global__ void no_work_kernel() {}

}  // namespace

int cuda::oldest_architecture() { return std::min({__CUDA_ARCH_LIST__}); }

cudaError_t cuda::find_code() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, no_work_kernel);
}

}  // namespace blco
