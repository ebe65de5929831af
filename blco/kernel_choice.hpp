// Kernel options of a caller: the precision of the numbers, and how conflicts between threads are resolved.
#pragma once

namespace blco {

// The largest rank of a model.
inline constexpr int max_rank = 4096;

// Precision of factors and MTTKRP. Gram matrices, the solve and the fit are always f64.
enum class Precision { f64, f32 };

// How a GPU adds segments of equal rows to the output (Nguyen et al., ICS 2022, sections 5.2 and 5.3). register_based
// adds every segment to global memory. hierarchical collects them in a stash in shared memory, then adds that to one of
// several copies of the output. automatic decides per mode and chunk.
enum class Resolution { automatic, register_based, hierarchical };

// Variants of the GPU kernel for orders 3 to 5 at rank 32 with f64 sums, for measurements: half a warp for a nonzero, two
// nonzeros in flight (usual); a warp for a nonzero, two in flight (wide) or four (wide_deep).
enum class KernelVariant { usual, wide, wide_deep };

}  // namespace blco
