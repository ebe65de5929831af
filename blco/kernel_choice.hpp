// What a caller chooses of the kernels: the precision of their numbers, and how they resolve conflicts.
#pragma once

namespace blco {

inline constexpr int max_rank = 4096;

// Of factors and MTTKRP. Gram matrices, the solve and the fit are always f64.
enum class Precision { f64, f32 };

// How segments of equal rows reach the output on a GPU (Nguyen et al., ICS 2022, sections 5.2 and 5.3): register_based
// adds every segment to global memory; hierarchical gathers them in a stash in shared memory, which goes to one of
// several copies of the output; automatic decides per mode and chunk.
enum class Resolution { automatic, register_based, hierarchical };

}  // namespace blco
