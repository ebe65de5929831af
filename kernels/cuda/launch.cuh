// Shared by kernels and launchers: launches, dynamic shared memory, and hints to the compiler.
//
// In the emulator (tests/simt), `cuda_runtime.h` is the emulator's, which defines the macros itself.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <tuple>
#include <utility>

#include "kernels/cuda/check.hpp"

#ifndef BLCO_SIMT
// Declares `name`, the start of a block's dynamic shared memory.
#define BLCO_DYNAMIC_SHARED(name) extern __shared__ __align__(16) std::byte name[]

// Keeps the compiler from taking an address in global memory apart: with its parts, the address of a row takes three
// instructions, and one as a whole.
#define BLCO_KEEP_ADDRESS(pointer)  \
  asm volatile("" : "+l"(pointer)); \
  __builtin_assume(__isGlobal(pointer))

// Makes the compiler forget what it knows of a number: it computes anew what follows from it, and keeps no registers
// for that.
#define BLCO_FORGET(number) asm volatile("" : "+r"(number))
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
