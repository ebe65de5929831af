// A build without CUDA: finds no device, and names the build as the reason.
#include "kernels/cuda_backend.hpp"

namespace blco {
namespace {

constexpr const char* reason = "blco was built without CUDA";

}  // namespace

DeviceSearch find_device() noexcept { return {std::nullopt, reason, ErrorKind::not_built}; }

DeviceBandwidths measure_device_bandwidths() { throw Error(ErrorKind::not_built, reason); }

DevicePeaks measure_device_peaks(const PeakEffort&) { throw Error(ErrorKind::not_built, reason); }

std::unique_ptr<Backend> make_cuda_backend(const CudaConfig&) { throw Error(ErrorKind::not_built, reason); }

}  // namespace blco
