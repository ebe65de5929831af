// How a GPU's kernels run, where it is not left to them; for measurements.
#pragma once

namespace blco {

// How a GPU adds segments of equal rows to the output (Nguyen et al., ICS 2022, sections 5.2 and 5.3). register_based
// adds every segment to global memory. hierarchical collects them in a stash in shared memory, then adds that to one of
// several copies of the output. automatic is register_based, which takes half the instructions, with
// copies of the output where a mode is short.
enum class ConflictResolution { automatic, register_based, hierarchical };

// For orders 3 to 5 at rank 32 with f64 sums: half a warp for a nonzero, two nonzeros in flight (usual); a warp for a
// nonzero, two in flight (wide) or four (wide_deep).
enum class KernelVariant { usual, wide, wide_deep };

struct GpuKernels {
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  KernelVariant variant = KernelVariant::usual;
  int blocks_per_multiprocessor = 0;  // of the MTTKRP kernel, at most; 0: as many as fit
};

}  // namespace blco
