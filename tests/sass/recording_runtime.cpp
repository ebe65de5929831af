#include "tests/sass/recording_runtime.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/primary_context.hpp"

namespace blco::testing {
namespace {

constexpr std::size_t arena_bytes = std::size_t{1} << 30;
constexpr std::size_t alignment = 256;
constexpr std::size_t gap = 4096;
constexpr int fresh_byte = 0xcd;  // what is read before it is written stands out

struct Runtime {
  std::byte* arena = nullptr;
  std::size_t used = 0;
  std::map<std::byte*, std::size_t> live;
  std::map<const void*, std::string> kernels;  // by host function
  std::function<void(const RecordedLaunch&)> report;
  std::size_t shared_bytes_of_multiprocessor = 0;
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;

  std::byte* allocate(std::size_t bytes) {
    if (arena == nullptr) {
      void* memory =
          mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      arena = static_cast<std::byte*>(memory);
    }
    if (live.empty()) used = 0;
    if (bytes > arena_bytes - used - 2 * gap) return nullptr;
    std::byte* memory = arena + used + gap;
    used += (gap + bytes + alignment - 1) / alignment * alignment;
    live[memory] = bytes;
    std::memset(memory, fresh_byte, bytes);
    return memory;
  }
};

// Kernels are registered before main, by constructors of other files.
Runtime& runtime() {
  static Runtime instance;
  return instance;
}

// Handles of streams and events are never looked into.
template <class Handle>
cudaError_t make_handle(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&runtime());
  return cudaSuccess;
}

}  // namespace

void set_shared_bytes_of_multiprocessor(std::size_t bytes) { runtime().shared_bytes_of_multiprocessor = bytes; }

void on_launch(std::function<void(const RecordedLaunch&)> report) { runtime().report = std::move(report); }

std::vector<std::span<const std::byte>> device_ranges() {
  std::vector<std::span<const std::byte>> ranges;
  for (const auto& [memory, bytes] : runtime().live) ranges.emplace_back(memory, bytes);
  return ranges;
}

}  // namespace blco::testing

namespace blco::cuda {

void push_context(int) {}
void pop_context() noexcept {}

}  // namespace blco::cuda

using blco::testing::runtime;

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = runtime().allocate(bytes);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  runtime().live.erase(static_cast<std::byte*>(memory));
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::aligned_alloc(blco::testing::alignment, (bytes + 255) / 256 * 256);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes, cudaStream_t) {
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return blco::testing::make_handle(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return blco::testing::make_handle(event); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t shared_bytes) {
  constexpr int resident_threads = 24 * 32;
  constexpr std::size_t reserved_bytes = 1 << 10;
  const auto fitting = static_cast<int>(runtime().shared_bytes_of_multiprocessor / (shared_bytes + reserved_bytes));
  *blocks = std::min(fitting, resident_threads / threads);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the recording runtime"; }

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments, size_t shared_bytes,
                             cudaStream_t) {
  const blco::testing::RecordedLaunch launch{runtime().kernels.at(function), blocks.x, threads.x, shared_bytes,
                                             arguments};
  if (runtime().report) runtime().report(launch);
  return cudaSuccess;
}

// What the code that nvcc makes of <<<>>> calls: of CUDA 12, whose handle of a kernel is the function; of CUDA 13.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, blocks, threads, arguments, shared_bytes, stream);
}
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared_bytes, cudaStream_t stream) {
  runtime().blocks = blocks;
  runtime().threads = threads;
  runtime().shared_bytes = shared_bytes;
  runtime().stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, size_t* shared_bytes, void* stream) {
  *blocks = runtime().blocks;
  *threads = runtime().threads;
  *shared_bytes = runtime().shared_bytes;
  *static_cast<cudaStream_t*>(stream) = runtime().stream;
  return cudaSuccess;
}
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*, void*, void*, void*,
                            int*) {
  runtime().kernels[function] = name;
}

// What CUB asks before its launches, none of which is recorded.
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaSuccess; }
cudaError_t cudaGetDevice(int*) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int*) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }

}  // extern "C"

// No dense work is recorded: a handle of cuBLAS need only be made.
blco::cuda::CublasSearch blco::cuda::find_cublas() {
  CublasCalls calls;
  calls.create = [](cublasHandle_t*) { return CUBLAS_STATUS_SUCCESS; };
  calls.set_stream = [](cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; };
  calls.set_workspace = [](cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; };
  return {calls, {}};
}
