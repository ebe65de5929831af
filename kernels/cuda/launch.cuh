// Shared by kernels and launchers: launches and dynamic shared memory.
//
// nvcc compiles this for devices; the host compiler compiles it if `cuda_runtime.h` is the emulator's (tests/simt),
// which defines the two macros itself.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "kernels/cuda/check.hpp"

#ifndef BLCO_SIMT
// Declares `name`, the start of a block's dynamic shared memory.
#define BLCO_DYNAMIC_SHARED(name) extern __shared__ __align__(16) std::byte name[]
#endif

namespace blco::cuda {

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
};

constexpr std::size_t shared_bytes_without_opt_in = 48 << 10;

// Queues kernel<<<shape, stream>>>(arguments...). `name` is for messages.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
#ifdef BLCO_SIMT
  check(simt::launch(kernel, shape.blocks, shape.threads, shape.shared_bytes, stream,
                     std::forward<Arguments>(arguments)...),
        name);
#else
  if (shape.shared_bytes > shared_bytes_without_opt_in) {
    check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
        name);
  }
  // clang-format off
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(std::forward<Arguments>(arguments)...);
  // clang-format on
  check(cudaGetLastError(), name);
#endif
}

}  // namespace blco::cuda
