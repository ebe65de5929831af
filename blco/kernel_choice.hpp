// Kernel options of a caller: the precision of the numbers, and how conflicts between threads are resolved.
#pragma once

namespace blco {

// The largest rank of a model.
inline constexpr int max_rank = 4096;

// Precision of factors and MTTKRP. Gram matrices, the solve and the fit are always f64.
// f64: all numbers. f32: factors, products, sums and output; half the memory. mixed: factors are stored as f32, rounded
// after each update; products, sums and output are f64. So the factors take half the memory and the output as much as
// with f64; the MTTKRP of the rounded factors has the rounding errors of f64. On the CPU a pass takes less time than
// with f64 where factor rows come from memory, and more where they stay in the caches, since every number is converted.
enum class Precision { f64, f32, mixed };

// How a GPU adds segments of equal rows to the output (Nguyen et al., ICS 2022, sections 5.2 and 5.3). register_based
// adds every segment to global memory. hierarchical collects them in a stash in shared memory, then adds that to one of
// several copies of the output. automatic is register_based, which takes half the instructions, with
// copies of the output where a mode is short.
enum class ConflictResolution { automatic, register_based, hierarchical };

}  // namespace blco
