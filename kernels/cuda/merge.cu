// merge.cu: output += the sum of its copies.
#include "kernels/cuda/dense_parts.cuh"

namespace blco::cuda {
namespace {

template <class Real>
__global__ void merge_kernel(Real* output, const Real* copies, int copy_count, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    Real sum = output[i];
#pragma unroll 4
    for (int copy = 0; copy < copy_count; ++copy) sum += __ldg(copies + static_cast<std::uint64_t>(copy) * count + i);
    output[i] = sum;
  }
}

}  // namespace

template <class Real>
void merge_copies(Real* output, const Real* copies, int copy_count, std::uint64_t count, cudaStream_t stream) {
  launch("merge copies", merge_kernel<Real>, elementwise_shape(count), stream, output, copies, copy_count, count);
}

template void merge_copies(double*, const double*, int, std::uint64_t, cudaStream_t);
template void merge_copies(float*, const float*, int, std::uint64_t, cudaStream_t);

}  // namespace blco::cuda
