// Reads /proc and the cgroup for the default budget.
#include "engine/common/memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <blco/memory_budget.hpp>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

namespace blco {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// A line of /proc/meminfo in bytes, or 0.
std::uint64_t meminfo_bytes(const std::string& wanted) {
  std::ifstream meminfo("/proc/meminfo");
  std::string line;
  while (std::getline(meminfo, line)) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (fields >> name >> kilobytes && name == wanted) return kilobytes * 1024;
  }
  return 0;
}

std::uint64_t available_bytes() {
  const std::uint64_t bytes = meminfo_bytes("MemAvailable:");
  return bytes == 0 ? std::uint64_t{1} << 30 : bytes;
}

std::uint64_t read_limit(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : no_limit;  // "max" does not parse: no limit
}

// The lowest limit of this process's cgroup and all its ancestors (cgroup v2), and of a v1 hierarchy.
std::uint64_t cgroup_limit() {
  std::uint64_t limit = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    if (!line.starts_with("0::")) continue;
    for (std::string group = line.substr(3); !group.empty(); group.resize(group.find_last_of('/'))) {
      limit = std::min(limit, read_limit("/sys/fs/cgroup" + group + "/memory.max"));
      if (group.find_last_of('/') == std::string::npos) break;
    }
  }
  return std::min(limit, read_limit("/sys/fs/cgroup/memory.max"));
}

}  // namespace

std::uint64_t default_host_bytes() { return std::min(available_bytes(), cgroup_limit()) / 10 * 8; }

std::string budget_note(std::uint64_t host_bytes) {
  const std::uint64_t installed = meminfo_bytes("MemTotal:");
  const std::uint64_t allowed = cgroup_limit();
  const std::uint64_t most = std::min(installed == 0 ? no_limit : installed, allowed);
  if (host_bytes <= most) return "";
  const std::string what = allowed < installed ? " that this process's cgroup may take" : " of this machine";
  return "the budget of " + format_bytes(host_bytes) + " exceeds the " + format_bytes(most) + what +
         ": a job that uses it up will be slow, or be killed";
}

std::uint64_t host_budget(std::uint64_t bytes) { return bytes == 0 ? default_host_bytes() : bytes; }

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, units[unit]);
  return text.data();
}

std::string as_budget(std::uint64_t bytes) {
  constexpr std::uint64_t kibibyte = 1024;
  constexpr std::uint64_t mebibyte = 1024 * kibibyte;
  if (bytes < 100 * mebibyte) return std::to_string((bytes + kibibyte - 1) / kibibyte) + "KiB";
  return std::to_string((bytes + mebibyte - 1) / mebibyte) + "MiB";
}

void release_freed_memory() { malloc_trim(0); }

}  // namespace blco
