// A program with one mistake of synchronisation that its argument names, for ThreadSanitizer to find. Prints the sum
// that it computes.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

constexpr unsigned threads = 64;
constexpr unsigned blocks = 3;
constexpr unsigned numbers = threads * blocks;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

// sum += the sum of all numbers: through shared memory in a block, by atomics across blocks.
template <bool Barrier, bool Atomic>
__global__ void sum_kernel(const double* given, double* sum) {
  __shared__ double of_warp[threads / 32];
  BLCO_DYNAMIC_SHARED(memory);
  auto* of_thread = reinterpret_cast<double*>(memory);
  of_thread[threadIdx.x] = given[blockIdx.x * blockDim.x + threadIdx.x];
  __syncwarp();
  double own = of_thread[threadIdx.x ^ 1u];
  for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(0xffffffffu, own, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  if constexpr (Barrier) __syncthreads();
  if (threadIdx.x == 0) {
    double of_block = 0;
    for (const double part : of_warp) of_block += part;
    if constexpr (Atomic) {
      atomicAdd(sum, of_block);
    } else {
      *sum += of_block;
    }
  }
}

// sums[b] += 1 for each block b, as launches of one stream may, which follow each other.
__global__ void count_kernel(double* sums) {
  if (threadIdx.x == 0) sums[blockIdx.x] += 1;
}

enum class Mistake { none, missing_barrier, missing_atomic, refilled_early, missing_wait, shared_sums };

void run(Mistake mistake) {
  double* host = nullptr;
  double* device = nullptr;
  cudaStream_t copies = nullptr;
  cudaStream_t kernels = nullptr;
  cudaEvent_t copied = nullptr;
  constexpr std::size_t bytes = numbers * sizeof(double);
  check(cudaMallocHost(reinterpret_cast<void**>(&host), bytes));
  check(cudaMalloc(&device, bytes + sizeof(double)));
  check(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  check(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  double* sum = device + numbers;

  for (unsigned i = 0; i < numbers; ++i) host[i] = 1;
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, copies));
  check(cudaMemsetAsync(sum, 0, sizeof(double), copies));
  check(cudaEventRecord(copied, copies));
  if (mistake != Mistake::missing_wait) check(cudaStreamWaitEvent(kernels, copied));
  const auto kernel = mistake == Mistake::missing_barrier  ? &sum_kernel<false, true>
                      : mistake == Mistake::missing_atomic ? &sum_kernel<true, false>
                                                           : &sum_kernel<true, true>;
  check(simt::launch(kernel, blocks, threads, threads * sizeof(double), kernels, device, sum));
  check(simt::launch(count_kernel, blocks, threads, 0, kernels, device));
  check(simt::launch(count_kernel, blocks, threads, 0, mistake == Mistake::shared_sums ? copies : kernels, device));
  if (mistake != Mistake::refilled_early) check(cudaEventSynchronize(copied));
  host[0] = 2;
  check(cudaStreamSynchronize(kernels));
  check(cudaMemcpyAsync(host, sum, sizeof(double), cudaMemcpyDeviceToHost, kernels));
  check(cudaStreamSynchronize(kernels));
  check(cudaStreamSynchronize(copies));
  std::printf("%g\n", host[0]);

  check(cudaEventDestroy(copied));
  check(cudaStreamDestroy(kernels));
  check(cudaStreamDestroy(copies));
  check(cudaFree(device));
  check(cudaFreeHost(host));
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Mistake> mistakes{{"none", Mistake::none},
                                                {"missing_barrier", Mistake::missing_barrier},
                                                {"missing_atomic", Mistake::missing_atomic},
                                                {"refilled_early", Mistake::refilled_early},
                                                {"missing_wait", Mistake::missing_wait},
                                                {"shared_sums", Mistake::shared_sums}};
  const auto mistake = mistakes.find(argc == 2 ? argv[1] : "");
  if (mistake == mistakes.end()) {
    std::fprintf(stderr, "usage: planted_races MISTAKE, one of");
    for (const auto& [name, which] : mistakes) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  run(mistake->second);
  return 0;
}
