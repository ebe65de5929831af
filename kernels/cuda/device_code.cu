#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/device_code.hpp"

namespace blco {
namespace {

__global__ void no_work_kernel() {}

}  // namespace

int cuda::oldest_architecture() { return std::min({__CUDA_ARCH_LIST__}); }

bool cuda::has_machine_code(int capability) {
  return std::ranges::any_of(std::initializer_list<int>{__CUDA_ARCH_LIST__}, [capability](int built) {
    return built / 100 == capability / 100 && built <= capability;
  });
}

cudaError_t cuda::find_code() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, no_work_kernel);
}

}  // namespace blco
