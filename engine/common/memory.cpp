// Reads /proc and the control groups for the default budget.
#include "engine/common/memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <blco/memory_budget.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "engine/common/control_groups.hpp"

namespace blco {
namespace {

// A line of /proc/meminfo in bytes, or 0.
std::uint64_t meminfo_bytes(const std::filesystem::path& root, const std::string& wanted) {
  std::ifstream meminfo(root / "proc/meminfo");
  std::string line;
  while (std::getline(meminfo, line)) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (fields >> name >> kilobytes && name == wanted) return kilobytes * 1024;
  }
  return 0;
}

std::uint64_t available_bytes(const std::filesystem::path& root) {
  const std::uint64_t bytes = meminfo_bytes(root, "MemAvailable:");
  return bytes == 0 ? std::uint64_t{1} << 30 : bytes;
}

}  // namespace

std::uint64_t default_host_bytes(const std::filesystem::path& root) {
  return std::min(available_bytes(root), read_group_limits(root).free_bytes) / 10 * 8;
}

std::string budget_note(std::uint64_t host_bytes) {
  const std::uint64_t installed = meminfo_bytes("/", "MemTotal:");
  const std::uint64_t allowed = read_group_limits().memory_bytes;
  const std::uint64_t most = std::min(installed == 0 ? GroupLimits::none : installed, allowed);
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
