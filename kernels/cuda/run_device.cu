// Runs on a CUDA device: memory from a pool of its own, all work on one stream.
#define THRUST_FORCE_32_BIT_OFFSET_TYPE  // half the code: max_run_entries fits
#include <thrust/system/cuda/execution_policy.h>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/run_sort.cuh"
#include "kernels/device_kind.hpp"

namespace blco {
namespace {

class CudaRuns {
 public:
  using value_type = char;  // as Thrust's allocator

  CudaRuns() {
    const DeviceSearch found = find_device();
    if (!found.limits) throw Error(found.kind, "no GPU: " + found.text());
    free_bytes_ = found.limits->free_bytes / 10 * 9;  // the rest is for the driver, and for gaps in the pool
    cuda::check(cudaGetDevice(&device_), "cudaGetDevice");
    int has_pools = 0;
    cuda::check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device_), "cudaDeviceGetAttribute");
    if (has_pools == 0)
      throw Error(ErrorKind::cuda, "no GPU: the driver of " + found.limits->name + " has no memory pools");
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device_;
    cuda::check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    std::uint64_t kept_bytes = found.limits->free_bytes;  // else every wait gives memory back to the driver
    cuda::check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept_bytes),
                "cudaMemPoolSetAttribute");
    stream_.emplace();
  }
  ~CudaRuns() {
    stream_.reset();
    static_cast<void>(cudaMemPoolDestroy(pool_));
  }

  std::uint64_t free_bytes() const { return free_bytes_; }
  auto policy() { return thrust::cuda::par_nosync(*this).on(stream()); }

  char* allocate(std::ptrdiff_t bytes) {
    void* data = nullptr;
    const std::string call = "cudaMallocFromPoolAsync of " + std::to_string(bytes) + " bytes";
    cuda::check(cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool_, stream()), call.c_str());
    return static_cast<char*>(data);
  }
  void deallocate(char* data, std::size_t) { static_cast<void>(cudaFreeAsync(data, stream_->get())); }

  void to_device(void* to, const void* from, std::uint64_t bytes) {
    cuda::copy_to_device(to, {static_cast<const std::byte*>(from), bytes}, stream());
  }
  void to_host(void* to, const void* from, std::uint64_t bytes) {
    cuda::copy_to_host({static_cast<std::byte*>(to), bytes}, from, stream());
    wait();
  }
  void wait() { cuda::check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

 private:
  // Any thread may call, whatever device it has used before.
  cudaStream_t stream() const {
    cuda::check(cudaSetDevice(device_), "cudaSetDevice");
    return stream_->get();
  }

  int device_ = 0;
  std::uint64_t free_bytes_ = 0;
  cudaMemPool_t pool_ = nullptr;
  std::optional<cuda::Stream> stream_;
};

}  // namespace

std::unique_ptr<RunDevice> make_run_device() { return std::make_unique<run_sort::Sorter<CudaRuns>>(); }

}  // namespace blco
