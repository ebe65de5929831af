// Names and texts of the errors that the fake runtime gives.
#include <string>

#include "tests/simt/fakes/fake_device.hpp"

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr ErrorText error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
};
constexpr ErrorText unknown{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};

const ErrorText& find(cudaError_t code) {
  for (const ErrorText& known : error_texts) {
    if (known.code == code) return known;
  }
  return unknown;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) { return find(error).name; }

const char* cudaGetErrorString(cudaError_t error) {
  static thread_local std::string text;
  const simt::FakeDevice& device = simt::fake_device();
  const std::lock_guard lock(simt::fake_device().mutex);
  text = find(error).text;
  if (error != cudaSuccess && error == device.failure_code) text += ": " + device.failure;
  return text.c_str();
}
