// Measures what the processor does at most: bytes that its threads load from a level of the memory hierarchy, and
// floating-point operations.
#pragma once

#include <cstdint>

#include "blco/executor.hpp"

namespace blco {

// How long a measurement may take. The best repeat counts: whatever else runs on the machine only takes time away.
struct PeakEffort {
  double seconds = 0.03;  // of one repeat, at least
  int repeats = 7;
};

// Bytes per second that the executor's threads load together, each from memory of its own: `set_bytes`, rounded up to
// cache lines. All threads begin together; for one that
// does not come within 250 ms nobody waits. Only loads count; nothing is stored. Allocates set_bytes per thread,
// which each thread touches first itself. Throws Error: out_of_memory; corrupt, if the sum of what was loaded is wrong.
double measure_loads(Executor& executor, std::uint64_t set_bytes, const PeakEffort& effort);

// Floating-point operations per second of all the executor's threads together, a fused multiply-add counted as two.
double measure_flops_f64(Executor& executor, const PeakEffort& effort);
double measure_flops_f32(Executor& executor, const PeakEffort& effort);

}  // namespace blco
