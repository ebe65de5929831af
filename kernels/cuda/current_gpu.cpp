// Apart from the search for devices, which asks much more of the runtime.
#include "kernels/cuda/primary_context.hpp"
#include "kernels/device_kind.hpp"

namespace blco {

CurrentGpu::CurrentGpu(int number) { cuda::push_context(number); }
CurrentGpu::~CurrentGpu() { cuda::pop_context(); }

}  // namespace blco
