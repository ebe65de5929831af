// Stands in for CUB's header of this name: the one algorithm that blco uses, as a kernel with a thread per index.
#pragma once

#include <cuda_runtime.h>

namespace cub {

struct DeviceFor {
  template <class Shape, class Operation>
  static cudaError_t Bulk(Shape count, Operation operation, cudaStream_t stream) {
    constexpr unsigned threads = 256;
    if (count == 0) return cudaSuccess;
    const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
    return simt::queue_kernel(nullptr, blocks, threads, 0, stream, [count, operation] {
      const Shape index = Shape{blockIdx.x} * threads + threadIdx.x;
      if (index < count) operation(index);
    });
  }
};

}  // namespace cub
