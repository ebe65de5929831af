// What this build has device code for.
#pragma once

#include <cuda_runtime.h>

namespace blco::cuda {

// The lowest compute capability that this build compiles for: 100 for the major number, 10 for the minor.
int oldest_architecture();
// Whether this build has machine code for a compute capability, written so: that of an equal major number, and of no
// higher a minor one. Else the driver compiles the newest PTX, and keeps what it makes for later starts. Goes by nvcc's
// list of architectures, which does not tell machine code from PTX alone.
bool has_machine_code(int capability);
// Whether this build has code that the current device runs; an error says why it has not.
cudaError_t find_code();

}  // namespace blco::cuda
