// By calls of the driver, which the runtime has loaded: going back by cudaSetDevice would make a context, of some
// hundred MB, on a device that the process may never use.
#include "kernels/cuda/primary_context.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "kernels/cuda/check.hpp"

namespace blco::cuda {
namespace {

// Errors of the driver have the runtime's numbers.
template <class Call, class... Arguments>
cudaError_t run(const char* name, Arguments... arguments) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  void* const call = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (call == nullptr) return cudaErrorInsufficientDriver;
  return static_cast<cudaError_t>(reinterpret_cast<Call>(call)(arguments...));
}

}  // namespace

// The context is retained for good, as cudaSetDevice does.
void push_context(int device) {
  CUcontext context = nullptr;
  check(run<decltype(&cuInit)>("cuInit", 0U), "cuInit");
  check(run<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain", &context, device),
        "cuDevicePrimaryCtxRetain");
  check(run<decltype(&cuCtxPushCurrent)>("cuCtxPushCurrent_v2", context), "cuCtxPushCurrent");
}

void pop_context() noexcept {
  CUcontext context = nullptr;
  static_cast<void>(run<decltype(&cuCtxPopCurrent)>("cuCtxPopCurrent_v2", &context));
}

}  // namespace blco::cuda
