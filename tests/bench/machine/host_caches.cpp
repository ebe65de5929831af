#include "tests/bench/machine/host_caches.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace blco {
namespace {

constexpr std::uint64_t smallest_l1_bytes = std::uint64_t{32} << 10;
constexpr std::uint64_t smallest_l2_bytes = std::uint64_t{256} << 10;
// What a hidden cache may hold is small beside this.
constexpr std::uint64_t least_memory_bytes = std::uint64_t{256} << 20;

std::string read_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number that `text` begins with, or 0; what follows it stays in `text`.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  text.remove_prefix(static_cast<std::size_t>(std::from_chars(text.data(), end, number).ptr - text.data()));
  return number;
}

// "48K", "260M" or plain bytes.
std::uint64_t parse_size(std::string_view text) {
  const std::uint64_t number = take_number(text);
  const int shift = text.starts_with('K') ? 10 : text.starts_with('M') ? 20 : text.starts_with('G') ? 30 : 0;
  return number << shift;
}

// How many processors a list such as "0-3,8" names; at least 1.
int count_processors(std::string_view list) {
  std::uint64_t count = 0;
  while (!list.empty()) {
    const std::uint64_t first = take_number(list);
    std::uint64_t last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_number(list);
    }
    if (last >= first) count += last - first + 1;
    if (!list.empty()) list.remove_prefix(1);
  }
  return static_cast<int>(std::clamp<std::uint64_t>(count, 1, 1 << 16));
}

// The cache number `index` of the folder, if it is one for data.
void add_cache(const std::filesystem::path& folder, HostCaches& caches) {
  const std::string level = read_line(folder / "level");
  CacheLevel* const found = level == "1" ? &caches.l1 : level == "2" ? &caches.l2 : level == "3" ? &caches.l3 : nullptr;
  if (found == nullptr || read_line(folder / "type") == "Instruction") return;
  *found = {parse_size(read_line(folder / "size")), count_processors(read_line(folder / "shared_cpu_list"))};
}

void ask_system(int name, CacheLevel& level) {
  const long bytes = level.bytes == 0 ? sysconf(name) : 0;
  if (bytes > 0) level.bytes = static_cast<std::uint64_t>(bytes);
}

std::uint64_t share(const CacheLevel& level, int threads) {
  return level.bytes / static_cast<std::uint64_t>(std::min(level.sharers, threads));
}

}  // namespace

HostCaches find_host_caches(const std::filesystem::path& folder) {
  constexpr int most_caches = 8;
  HostCaches caches;
  for (int i = 0; i < most_caches; ++i) add_cache(folder / ("index" + std::to_string(i)), caches);
  ask_system(_SC_LEVEL1_DCACHE_SIZE, caches.l1);
  ask_system(_SC_LEVEL2_CACHE_SIZE, caches.l2);
  ask_system(_SC_LEVEL3_CACHE_SIZE, caches.l3);
  caches.l1.bytes = std::max(caches.l1.bytes, smallest_l1_bytes);
  caches.l2.bytes = std::max(caches.l2.bytes, smallest_l2_bytes);
  return caches;
}

std::uint64_t l1_set_bytes(const HostCaches& caches, int threads) { return share(caches.l1, threads) / 2; }

std::uint64_t l2_set_bytes(const HostCaches& caches, int threads) { return share(caches.l2, threads) / 2; }

std::uint64_t l3_set_bytes(const HostCaches& caches, int threads) {
  const std::uint64_t l2 = share(caches.l2, threads);
  const std::uint64_t l3 = share(caches.l3, threads);
  if (l3 / 2 >= 2 * l2) return std::min(l3 / 2, 8 * l2);
  const std::uint64_t both = (l2 + l3) / 4 * 3;
  return both > l2 + l2 / 4 ? both : 0;
}

std::uint64_t memory_set_bytes(const HostCaches& caches, int threads, std::uint64_t most_bytes) {
  const auto width = static_cast<std::uint64_t>(threads);
  const auto sharers = static_cast<std::uint64_t>(caches.l3.sharers);
  const std::uint64_t filled = (width + sharers - 1) / sharers * caches.l3.bytes + width * caches.l2.bytes;
  return std::min(std::max(4 * filled, least_memory_bytes), most_bytes) / width;
}

}  // namespace blco
