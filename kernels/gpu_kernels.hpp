// How a GPU's kernels run, where it is not left to them; for measurements.
#pragma once

#include "blco/kernel_choice.hpp"

namespace blco {

// For orders 3 to 5 at rank 32 with f64 sums: half a warp for a nonzero, two nonzeros in flight (usual); a warp for a
// nonzero, two in flight (wide) or four (wide_deep).
enum class KernelVariant { usual, wide, wide_deep };

struct GpuKernels {
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  KernelVariant variant = KernelVariant::usual;
  int blocks_per_multiprocessor = 0;  // of the MTTKRP kernel, at most; 0: as many as fit
};

}  // namespace blco
