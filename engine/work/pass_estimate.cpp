#include "engine/work/pass_estimate.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "blco/frame.hpp"

namespace blco {
namespace {

// A decoded nonzero: a 32-bit row per mode, and the value.
constexpr std::uint64_t row_index_bytes = 4;
constexpr std::uint64_t value_bytes = 8;

double share_in_cache(std::uint64_t bytes, std::uint64_t cache_bytes) {
  return bytes <= cache_bytes ? 1.0 : static_cast<double>(cache_bytes) / static_cast<double>(bytes);
}

std::array<std::pair<double, const char*>, 5> terms(const PassSeconds& seconds) {
  return {{{seconds.link, "link"},
           {seconds.disk, "disk"},
           {seconds.memory, "device memory"},
           {seconds.cache, "cache"},
           {seconds.additions, "atomic additions"}}};
}

}  // namespace

PassTraffic traffic_of(const PassLoad& load, std::uint64_t cache_bytes) {
  const auto nnz = static_cast<double>(load.nnz);
  const auto rank = static_cast<double>(load.rank);
  const int rows = load.mode < 0 ? load.order : load.order - 1;
  const double read = nnz * static_cast<double>(rows) * rank * static_cast<double>(load.factor_number_bytes);
  const double added = static_cast<double>(load.segments) * rank * static_cast<double>(load.output_number_bytes);
  const double missed_reads = read * (1 - share_in_cache(load.factor_bytes, cache_bytes));
  // An addition to memory reads and writes.
  const double missed_additions = 2 * added * (1 - share_in_cache(load.output_bytes, cache_bytes));
  const double decoded = load.chunk_reads * nnz *
                         static_cast<double>(row_index_bytes * static_cast<std::uint64_t>(load.order) + value_bytes);
  const double packed =
      load.chunk_reads * static_cast<double>(load.payload_bytes) + static_cast<double>(load.link_bytes);

  PassTraffic traffic;
  traffic.link_bytes = static_cast<double>(load.link_bytes);
  traffic.disk_bytes = static_cast<double>(load.disk_bytes);
  traffic.memory_bytes = packed + missed_reads + missed_additions;
  traffic.cache_bytes = decoded + read + added;
  traffic.additions = static_cast<double>(load.segments) * rank;
  return traffic;
}

PassSeconds estimate_pass(const PassLoad& load, const DeclaredGpu& gpu) {
  const PassTraffic traffic = traffic_of(load, gpu.l2_bytes);
  PassSeconds seconds;
  seconds.mode = load.mode;
  seconds.link = traffic.link_bytes / gpu.link_bytes_per_second;
  seconds.disk = traffic.disk_bytes / gpu.disk_bytes_per_second;
  seconds.memory = traffic.memory_bytes / gpu.memory_bytes_per_second;
  seconds.cache = traffic.cache_bytes / gpu.cache_bytes_per_second;
  seconds.additions = traffic.additions / gpu.additions_per_second;
  return seconds;
}

std::uint64_t max_segments(std::uint64_t nnz, std::uint64_t rows) {
  const std::uint64_t frames = (nnz + frame_entries - 1) / frame_entries;
  return std::min(nnz, frames * std::min<std::uint64_t>(frame_entries, rows));
}

double PassSeconds::longest() const { return std::ranges::max(terms(*this)).first; }
const char* PassSeconds::bound() const { return std::ranges::max(terms(*this)).second; }

}  // namespace blco
