// What Linux's control groups (cgroups of version 1 and 2) leave to this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace blco {

struct GroupLimits {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t memory_bytes = none;  // the lowest limit of its group and of all groups above
  std::uint64_t free_bytes = none;    // the least that such a group leaves: its limit without what it uses
  int processors = std::numeric_limits<int>::max();  // worth of time per period, rounded up; at least 1
};

// Cached files, which the system drops when memory is short, are not used memory. `root` holds proc/self and
// sys/fs/cgroup. Sets of processors (cpuset) are left to the process's affinity, which the system keeps within them.
GroupLimits read_group_limits(const std::filesystem::path& root = "/");

}  // namespace blco
