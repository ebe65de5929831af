#include "kernels/cuda/device_code.hpp"

namespace blco {
namespace {

__global__ void no_work_kernel() {}

}  // namespace

std::span<const int> cuda::architectures() {
  static constexpr int list[] = {__CUDA_ARCH_LIST__};
  return list;
}

cudaError_t cuda::find_code() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, no_work_kernel);
}

}  // namespace blco
