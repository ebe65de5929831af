// Stands in for CUDA's header of this name, so that kernels and the code that drives them compile for the emulator.
// Only what this project uses is here.
#pragma once

#define BLCO_SIMT 1
// As nvcc defines it for the architectures 80 and 90.
#define __CUDA_ARCH_LIST__ 800, 900

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

#include "tests/simt/block_runner.hpp"
#include "tests/simt/device_functions.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

// Blocks run one at a time. Under ThreadSanitizer each has a thread of its own, so that blocks are not taken for
// ordered by the memory that they share one after another; elsewhere a plain static has the address sanitizer's
// redzones.
#ifdef __SANITIZE_THREAD__
#define __shared__ static thread_local
#else
#define __shared__ static
#endif
#define BLCO_DYNAMIC_SHARED(name) std::byte* const name = ::simt::dynamic_shared()
// Hints to another compiler.
#define BLCO_KEEP_ADDRESS(pointer)
#define BLCO_FORGET(number)

#define threadIdx (::simt::thread_index())
#define blockIdx (::simt::block_index())
#define blockDim (::simt::block_size())
#define gridDim (::simt::grid_size())

namespace simt {

// Queues `thread`, what `kernel` does, to be called by every thread of every block.
cudaError_t queue_kernel(const void* kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes,
                         cudaStream_t stream, std::function<void()> thread);

// What kernel<<<blocks, threads, shared_bytes, stream>>>(arguments...) does: arguments are copied when they are queued.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, std::size_t shared_bytes,
                   cudaStream_t stream, Arguments&&... arguments) {
  const std::tuple<Parameters...> copies{std::forward<Arguments>(arguments)...};
  return queue_kernel(reinterpret_cast<const void*>(kernel), blocks, threads, shared_bytes, stream,
                      [kernel, copies] { std::apply(kernel, copies); });
}

}  // namespace simt
