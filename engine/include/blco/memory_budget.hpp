// How much memory a job may take.
#pragma once

#include <cstdint>
#include <string>

namespace blco {

// Memory limits of a job. Defaults, for zero: host_bytes, 80% of the available memory, or of what its
// cgroups leave to this process if that is less; device_bytes, 90% of the free device memory. A job that needs more throws
// Error{out_of_memory}, which names the smallest budget that suffices.
struct MemoryBudget {
  std::uint64_t host_bytes = 0;
  std::uint64_t device_bytes = 0;
};

// One sentence if a budget of `host_bytes` is more than the machine's memory or a limit of its cgroups; else empty.
std::string budget_note(std::uint64_t host_bytes);

}  // namespace blco
