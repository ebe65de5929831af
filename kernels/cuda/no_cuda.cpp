// A build without CUDA: finds no device, and names the build as the reason.
#include "kernels/cuda/cuda_backend.hpp"

namespace blco {
namespace {

constexpr const char* reason = "blco was built without CUDA";

}  // namespace

int gpu_count() noexcept { return 0; }

CurrentGpu::CurrentGpu(int) { throw Error(ErrorKind::not_built, reason); }
CurrentGpu::~CurrentGpu() = default;

std::unique_ptr<HostBuffer> pinned_memory(std::uint64_t, int) { throw Error(ErrorKind::not_built, reason); }

DeviceSearch find_device() noexcept { return {std::nullopt, reason, ErrorKind::not_built}; }

std::unique_ptr<Backend> make_cuda_backend(const BackendConfig&, const DeviceLimits&) {
  throw Error(ErrorKind::not_built, reason);
}

}  // namespace blco
