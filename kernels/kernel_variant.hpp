// What only measurements choose of a GPU's kernels.
#pragma once

namespace blco {

// For orders 3 to 5 at rank 32 with f64 sums: half a warp for a nonzero, two nonzeros in flight (usual); a warp for a
// nonzero, two in flight (wide) or four (wide_deep).
enum class KernelVariant { usual, wide, wide_deep };

}  // namespace blco
