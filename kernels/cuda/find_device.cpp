// Looks for a device that can run this build: a chain of checks, each of which may say what is in the way.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/device_code.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/machine_code.hpp"
#include "kernels/device_kind.hpp"

namespace blco {
namespace {

// Kernels use what older devices and toolkits do not have: reductions of a warp, C++20.
constexpr int oldest_capability = 800;
constexpr int oldest_toolkit = 12000;

struct Candidate {
  int device = 0;
  cudaDeviceProp properties{};
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

struct Obstacle {
  std::string reason;
  std::string remedy = {};
};
using Check = std::optional<Obstacle> (*)(Candidate&);

std::optional<Obstacle> obstacle_of(cudaError_t status) {
  if (status == cudaSuccess) return {};
  return Obstacle{cudaGetErrorString(status)};
}

// CUDA writes 12.4 as 12040, where `unit` is 1000, and compute capability 7.5 as 750, where it is 100.
std::string dotted(int number, int unit) {
  return std::to_string(number / unit) + '.' + std::to_string(number % unit / 10);
}

int capability_of(const cudaDeviceProp& properties) { return 100 * properties.major + 10 * properties.minor; }

std::optional<Obstacle> check_driver(Candidate&) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice) return Obstacle{"the NVIDIA driver finds none"};
  if (status != cudaErrorInsufficientDriver) return obstacle_of(status);
  int driver = 0;
  int runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  if (driver == 0) return Obstacle{"no NVIDIA driver here"};
  std::string remedy = "update the driver";
  if (driver >= oldest_toolkit) remedy += ", or use a build by a CUDA " + std::to_string(driver / 1000) + " toolkit";
  return Obstacle{"the NVIDIA driver supports CUDA " + dotted(driver, 1000) +
                      ", but this build uses the runtime of CUDA " + dotted(runtime, 1000),
                  remedy};
}

std::optional<Obstacle> read_properties(Candidate& found) {
  const cudaError_t status = cudaGetDevice(&found.device);
  return obstacle_of(status != cudaSuccess ? status : cudaGetDeviceProperties(&found.properties, found.device));
}

std::optional<Obstacle> check_code(Candidate& found) {
  const int capability = capability_of(found.properties);
  const int oldest = std::ranges::min(cuda::architectures());
  const std::string gpu =
      std::string("the GPU ") + found.properties.name + " has compute capability " + dotted(capability, 100);
  const std::string remedy = "build blco with CMAKE_CUDA_ARCHITECTURES=" + std::to_string(capability / 10) +
                             " by a CUDA toolkit that supports it";
  if (capability < oldest_capability)
    return Obstacle{gpu + "; blco needs " + dotted(oldest_capability, 100) + " or newer"};
  if (capability < oldest) return Obstacle{gpu + "; this build needs " + dotted(oldest, 100) + " or newer", remedy};
  const cudaError_t status = cuda::find_code();
  const bool none = status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
                    status == cudaErrorUnsupportedPtxVersion;
  return none ? Obstacle{gpu + "; this build has no code for it", remedy} : obstacle_of(status);
}

std::optional<Obstacle> read_memory(Candidate& found) {
  return obstacle_of(cudaMemGetInfo(&found.free_bytes, &found.total_bytes));
}

std::optional<Obstacle> check_cublas(Candidate&) {
  const cuda::CublasSearch cublas = cuda::find_cublas();
  if (cublas.calls) return {};
  return Obstacle{cublas.reason};
}

constexpr Check checks[] = {check_driver, read_properties, check_code, read_memory, check_cublas};

// Pinned by a thread whose current device is another one, and freed by such a thread.
class PinnedForGpu final : public HostBuffer {
 public:
  PinnedForGpu(std::uint64_t bytes, int gpu) : gpu_(gpu) {
    const CurrentGpu current(gpu);
    memory_.emplace(bytes);
  }
  ~PinnedForGpu() override {
    try {
      const CurrentGpu current(gpu_);
      memory_.reset();
    } catch (const Error&) {
      // The context is gone, and the memory with it.
    }
  }
  std::span<std::byte> bytes() override { return memory_->bytes(); }

 private:
  int gpu_;
  std::optional<cuda::PinnedBuffer> memory_;
};

}  // namespace

int gpu_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

std::unique_ptr<HostBuffer> pinned_memory(std::uint64_t bytes, int gpu) {
  return std::make_unique<PinnedForGpu>(bytes, gpu);
}

DeviceSearch find_device() noexcept {
  Candidate found;
  for (const Check check : checks) {
    const std::optional<Obstacle> obstacle = check(found);
    if (!obstacle) continue;
    static_cast<void>(cudaGetLastError());
    return {.reason = obstacle->reason, .remedy = obstacle->remedy};
  }
  const cudaDeviceProp& properties = found.properties;
  return {.limits = DeviceLimits{properties.name, properties.multiProcessorCount,
                                 static_cast<std::uint64_t>(properties.l2CacheSize), properties.sharedMemPerBlockOptin,
                                 properties.sharedMemPerMultiprocessor, found.total_bytes, found.free_bytes,
                                 capability_of(properties), cuda::has_machine_code(capability_of(properties))}};
}

}  // namespace blco
