// Shared by kernels and launchers: launches and dynamic shared memory.
//
// In the emulator (tests/simt), `cuda_runtime.h` is the emulator's, which defines the two macros itself.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <tuple>
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

// Queues kernel<<<shape, stream>>>(arguments...). `name` is for messages.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
#ifdef BLCO_SIMT
  check(simt::launch(kernel, shape.blocks, shape.threads, shape.shared_bytes, stream,
                     std::forward<Arguments>(arguments)...),
        name);
#else
  std::tuple<Parameters...> copies{std::forward<Arguments>(arguments)...};
  const auto queue = [&](auto&... parameters) {
    void* addresses[] = {&parameters...};
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(shape.blocks), dim3(shape.threads), addresses,
                            shape.shared_bytes, stream);
  };
  check(std::apply(queue, copies), name);
#endif
}

}  // namespace blco::cuda
