// Makes a device a thread's current one, as cudaSetDevice does, and back again without a context on the device before.
#pragma once

namespace blco::cuda {

// Puts the context that the runtime uses of a device above the thread's current one. Throws Error: cuda.
void push_context(int device);
void pop_context() noexcept;

}  // namespace blco::cuda
