// How much memory a job may take.
#pragma once

#include <cstdint>

namespace blco {

// Zero stands for the default: host, 80% of the smaller of available memory and the cgroup's limit; device,
// 90% of what is free. A job that needs more than its budget throws
// Error{out_of_memory} naming the least that would do.
struct MemoryBudget {
  std::uint64_t host_bytes = 0;
  std::uint64_t device_bytes = 0;
};

}  // namespace blco
