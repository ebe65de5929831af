#include <cuda_runtime.h>

#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda_backend.hpp"

namespace blco {

DeviceSearch find_device() noexcept {
  DeviceSearch search;
  int count = 0;
  int device = 0;
  cudaDeviceProp properties{};
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status == cudaSuccess) status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaGetDeviceProperties(&properties, device);
  if (status == cudaSuccess) status = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    search.reason = cudaGetErrorString(status);
    return search;
  }
  if (const cuda::CublasSearch cublas = cuda::find_cublas(); !cublas.calls) {
    search.reason = cublas.reason;
    return search;
  }
  search.limits = DeviceLimits{properties.name,
                               properties.multiProcessorCount,
                               static_cast<std::uint64_t>(properties.l2CacheSize),
                               properties.sharedMemPerBlockOptin,
                               properties.sharedMemPerMultiprocessor,
                               total_bytes,
                               free_bytes};
  return search;
}

}  // namespace blco
