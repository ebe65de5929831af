#include "tests/bench/measure/pass_traffic.hpp"

#include <algorithm>

#include "blco/frame.hpp"
#include "engine/tensor/tensor_sizes.hpp"

namespace blco {
namespace {

// A decoded nonzero: a 32-bit row per mode, and the value.
constexpr std::uint64_t row_index_bytes = 4;
constexpr std::uint64_t value_bytes = 8;

double share_in_cache(std::uint64_t bytes, std::uint64_t cache_bytes) {
  return bytes <= cache_bytes ? 1.0 : static_cast<double>(cache_bytes) / static_cast<double>(bytes);
}

}  // namespace

std::vector<PassLoad> loads_of(const Job& job) {
  const ChunkSource& chunks = job.pass_chunks();
  const TensorSizes sizes = measure_tensor(chunks);
  const std::vector<std::uint64_t>& shape = chunks.info().shape;
  const CpdPlan plan = job.describe();
  std::vector<PassLoad> loads;
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    PassLoad load;
    load.mode = static_cast<int>(mode);
    load.order = static_cast<int>(shape.size());
    load.rank = job.rank();
    load.factor_number_bytes = factor_number_bytes(job.precision());
    load.output_number_bytes = output_number_bytes(job.precision());
    load.chunk_reads = plan.column_slabs;
    load.link_bytes = plan.link_bytes_per_pass;
    load.disk_bytes = plan.disk_bytes_per_pass;
    const ChunkRange range = job.plan().chunks_of(PassRequest(load.mode));
    for (std::uint64_t chunk = range.first; chunk < range.end; ++chunk) {
      const std::uint64_t rows = chunks.upper(chunk)[mode] - chunks.lower(chunk)[mode] + 1;
      load.nnz += sizes.chunks[chunk].nnz;
      load.payload_bytes += sizes.chunks[chunk].payload_bytes;
      load.segments += max_segments(sizes.chunks[chunk].nnz, rows);
    }
    const auto rank = static_cast<std::uint64_t>(load.rank);
    load.output_bytes = shape[mode] * rank * load.output_number_bytes;
    for (std::size_t other = 0; other < shape.size(); ++other) {
      if (other != mode) load.factor_bytes += shape[other] * rank * load.factor_number_bytes;
    }
    if (plan.column_slabs > 1) load.link_bytes += load.factor_bytes + load.output_bytes;
    loads.push_back(load);
  }
  return loads;
}

PassLoad loss_load(std::span<const PassLoad> mttkrps) {
  PassLoad load = mttkrps.front();
  load.mode = -1;
  load.segments = load.output_bytes = load.factor_bytes = 0;
  for (const PassLoad& of_mode : mttkrps) {
    load.segments += of_mode.segments;
    load.output_bytes += of_mode.output_bytes;
    load.factor_bytes += of_mode.output_bytes / of_mode.output_number_bytes * of_mode.factor_number_bytes;
  }
  return load;
}

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

std::uint64_t max_segments(std::uint64_t nnz, std::uint64_t rows) {
  const std::uint64_t frames = (nnz + frame_entries - 1) / frame_entries;
  return std::min(nnz, frames * std::min<std::uint64_t>(frame_entries, rows));
}

}  // namespace blco
