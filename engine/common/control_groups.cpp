// Walks from the process's own groups up to where each hierarchy is mounted; the files of both versions differ in name.
#include "engine/common/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace blco {
namespace {

namespace fs = std::filesystem;

// The groups of some controllers, as folders below `folder`. What is mounted may be a part of the hierarchy: `top` is
// the group that `folder` shows.
struct Hierarchy {
  std::string folder;
  std::string top;
  std::string controllers;  // "cpu,cpuacct"; empty: version 2
};

// Whether `wanted` is in a list such as "rw,cpu,cpuacct".
bool lists(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == wanted) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::vector<Hierarchy> find_hierarchies(const fs::path& root) {
  // Where they are by custom, for a process that sees no mounts.
  std::vector<Hierarchy> found = {{"/sys/fs/cgroup", "/", ""},
                                  {"/sys/fs/cgroup/unified", "/", ""},
                                  {"/sys/fs/cgroup/memory", "/", "memory"},
                                  {"/sys/fs/cgroup/cpu", "/", "cpu"},
                                  {"/sys/fs/cgroup/cpu,cpuacct", "/", "cpu"}};
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // "31 23 0:28 TOP FOLDER options [optional fields] - TYPE source options"
    std::istringstream fields(line);
    std::string skipped;
    std::string type;
    Hierarchy one;
    fields >> skipped >> skipped >> skipped >> one.top >> one.folder;
    while (fields >> skipped && skipped != "-") continue;
    fields >> type >> skipped >> one.controllers;
    if (type == "cgroup2") one.controllers.clear();
    if (type == "cgroup2" || type == "cgroup") found.push_back(one);
  }
  return found;
}

// By controller, or under an empty name that of version 2: the path of the process's group.
std::map<std::string, std::string> own_groups(const fs::path& root) {
  std::map<std::string, std::string> groups;
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/path", "0::/path"
    const std::size_t first = std::min(line.find(':'), line.size());
    const std::size_t second = std::min(line.find(':', first + 1), line.size());
    if (second == line.size()) continue;
    std::istringstream controllers(line.substr(first + 1, second - first - 1) + ",");
    for (std::string one; std::getline(controllers, one, ',');) groups[one] = line.substr(second + 1);
  }
  return groups;
}

std::uint64_t read_number(const fs::path& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::int64_t number = 0;  // "max", and -1, mean no limit
  return file >> number && number >= 0 ? static_cast<std::uint64_t>(number) : otherwise;
}

void add_memory(const fs::path& group, GroupLimits& limits) {
  std::map<std::string, std::uint64_t> kinds;
  std::ifstream stat(group / "memory.stat");
  std::string kind;
  for (std::uint64_t bytes = 0; stat >> kind >> bytes;) kinds[kind] = bytes;
  const auto cached = [&](const std::string& prefix) {
    return kinds[prefix + "inactive_file"] + kinds[prefix + "active_file"] + kinds["slab_reclaimable"];
  };
  const std::uint64_t limit = std::min({read_number(group / "memory.max", GroupLimits::none),
                                        read_number(group / "memory.high", GroupLimits::none),
                                        read_number(group / "memory.limit_in_bytes", GroupLimits::none)});
  const std::uint64_t held = read_number(group / "memory.current", read_number(group / "memory.usage_in_bytes", 0));
  // Version 1 gives what the groups below hold, too, under names of their own, and the lowest limit of those above.
  const std::uint64_t droppable = cached(kinds.contains("total_inactive_file") ? "total_" : "");
  const std::uint64_t used = held - std::min(held, droppable);
  limits.free_bytes = std::min(limits.free_bytes, limit - std::min(limit, used));
  const auto above = kinds.find("hierarchical_memory_limit");
  limits.memory_bytes = std::min({limits.memory_bytes, limit, above == kinds.end() ? limit : above->second});
  limits.free_bytes = std::min(limits.free_bytes, limits.memory_bytes);
}

void add_processors(const fs::path& group, GroupLimits& limits) {
  std::uint64_t quota = read_number(group / "cpu.cfs_quota_us", GroupLimits::none);
  std::uint64_t period = read_number(group / "cpu.cfs_period_us", 0);
  if (std::ifstream file(group / "cpu.max"); file >> quota) file >> period;
  if (quota == GroupLimits::none || period == 0) return;
  const std::uint64_t whole = std::max<std::uint64_t>(1, (quota + period - 1) / period);
  limits.processors = static_cast<int>(std::min<std::uint64_t>(whole, static_cast<std::uint64_t>(limits.processors)));
}

}  // namespace

GroupLimits read_group_limits(const fs::path& root) {
  GroupLimits limits;
  const std::map<std::string, std::string> groups = own_groups(root);
  for (const Hierarchy& hierarchy : find_hierarchies(root)) {
    std::string group;
    for (const auto& [controller, path] : groups) {
      if (controller.empty() ? hierarchy.controllers.empty() : lists(hierarchy.controllers, controller)) group = path;
    }
    // Of a group that is not below the mounted one, that alone counts.
    const bool is_below = hierarchy.top == "/" || (group + "/").starts_with(hierarchy.top + "/");
    group.erase(0, is_below ? hierarchy.top.size() - (hierarchy.top == "/") : group.size());
    for (;; group.resize(group.find_last_of('/'))) {
      const fs::path folder = root / (hierarchy.folder + group).substr(1);
      add_memory(folder, limits);
      add_processors(folder, limits);
      if (group.find('/') == std::string::npos) break;
    }
  }
  return limits;
}

}  // namespace blco
