// Ingest: run, merge, encode.
#include <algorithm>
#include <blco/ingest.hpp>
#include <memory>
#include <string>
#include <utility>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "engine/array_reader.hpp"
#include "engine/encode.hpp"
#include "engine/ingest_job.hpp"
#include "engine/memory.hpp"
#include "engine/merge.hpp"
#include "engine/run_builder.hpp"
#include "engine/thread_pool.hpp"
#include "io/tns_reader.hpp"

namespace blco {
namespace {

constexpr std::size_t max_name_bytes = 4096;  // of a mode, as the container has it

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::vector<std::string> decide_mode_names(std::size_t order, const IngestOptions& options) {
  if (options.mode_names.empty()) {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < order; ++n) names.push_back("mode" + std::to_string(n));
    return names;
  }
  if (options.mode_names.size() != order) {
    throw Error(ErrorKind::invalid_argument, "the tensor has " + count_of(order, "mode") + ", but " +
                                                 count_of(options.mode_names.size(), "mode name") + " given");
  }
  return options.mode_names;
}

void check_options(const IngestOptions& options) {
  if (options.chunk_nnz == 0 || options.chunk_nnz > max_chunk_nnz) {
    throw Error(ErrorKind::invalid_argument,
                "the nonzeros per chunk must be from 1 to " + std::to_string(max_chunk_nnz));
  }
  if (options.zstd_level < 0 || options.zstd_level > 19) {
    throw Error(ErrorKind::invalid_argument, "the zstd level must be from 1 to 19, or 0 for none");
  }
  if (!options.shape.empty()) static_cast<void>(TensorLayout(options.shape));
  if (!options.shape.empty() && !options.mode_names.empty()) {
    static_cast<void>(decide_mode_names(options.shape.size(), options));
  }
  for (const std::string& name : options.mode_names) {
    if (name.size() > max_name_bytes) {
      throw Error(ErrorKind::invalid_argument,
                  "a mode name is longer than " + std::to_string(max_name_bytes) + " bytes; shorten it");
    }
  }
}

// The shape asked for or, without one, that which the input declares, if its entries fit it; else the entries' own.
std::vector<std::uint64_t> decide_shape(const RunBuilder& run, const IngestOptions& options,
                                        const CoordinateReader& reader) {
  const std::string input = reader.name();
  const std::vector<std::uint64_t>& extent = run.extent();
  const std::vector<std::uint64_t> shape = options.shape.empty() ? reader.declared_shape() : options.shape;
  if (shape.empty()) return extent;
  if (shape.size() != extent.size()) {
    throw Error(ErrorKind::invalid_argument, input + " has " + count_of(extent.size(), "mode") +
                                                 ", but the shape given has " + std::to_string(shape.size()) +
                                                 "; give one length per mode");
  }
  for (std::size_t n = 0; n < extent.size(); ++n) {
    if (extent[n] > shape[n]) {
      const std::uint64_t largest = extent[n] - 1 + static_cast<std::uint64_t>(options.index_base);
      throw Error(ErrorKind::invalid_argument,
                  input + " has the coordinate " + std::to_string(largest) + " in mode " + std::to_string(n) +
                      ", beyond the length " + std::to_string(shape[n]) +
                      (options.shape.empty() ? " that its header declares; correct it, or give --shape"
                                             : " of the shape given; give a larger one"));
    }
  }
  return shape;
}

// Nonzeros in line order, and what encode is told of them.
struct SortedEntries {
  ContainerInfo info;
  std::unique_ptr<TensorLayout> layout;  // the source refers to it
  std::unique_ptr<SortedSource> source;
  std::uint64_t entries_read = 0;
};

enum class Destination { container, memory };

RunBuilder read_all(CoordinateReader& reader, const IngestOptions& options, ProgressMeter& meter) {
  RunBuilder builder(host_budget(options.memory_bytes));
  CoordinateBatch batch;
  const InputSize size = reader.size();
  meter.begin({.name = "read", .nonzeros = size.entries, .bytes = size.bytes});
  std::uint64_t bytes_before = 0;
  while (reader.next(batch)) {
    const std::uint64_t entries = batch.count();
    builder.add(std::exchange(batch, {}));
    meter.advance(entries, reader.bytes_read() - bytes_before);
    bytes_before = reader.bytes_read();
  }
  meter.end();
  if (builder.entry_count() == 0) {
    throw Error(ErrorKind::invalid_argument, reader.name() + " holds no nonzeros; a tensor needs at least one");
  }
  return builder;
}

SortedEntries sort_entries(CoordinateReader& reader, const IngestOptions& options, Destination destination,
                           Executor& executor, ProgressMeter& meter) {
  RunBuilder builder = read_all(reader, options, meter);
  SortedEntries sorted;
  sorted.info.shape = decide_shape(builder, options, reader);
  sorted.info.mode_names = decide_mode_names(sorted.info.shape.size(), options);
  sorted.info.chunk_nnz = options.chunk_nnz;
  sorted.layout = std::make_unique<TensorLayout>(sorted.info.shape);
  sorted.entries_read = builder.entry_count();
  const std::uint64_t largest_chunk = std::min(options.chunk_nnz, sorted.entries_read);
  const std::uint64_t chunks = (sorted.entries_read + largest_chunk - 1) / largest_chunk;
  const auto chunks_at_once = std::min(chunks, static_cast<std::uint64_t>(executor.width()));
  std::uint64_t later_bytes = encode_bytes(*sorted.layout, largest_chunk, chunks_at_once);
  if (destination == Destination::memory) later_bytes += packed_bytes_bound(*sorted.layout, largest_chunk, chunks);
  builder.check_budget(*sorted.layout, later_bytes);
  meter.begin({.name = "sort"});
  sorted.source =
      merge_runs(builder.finish(*sorted.layout, executor), *sorted.layout, options.duplicates, options.index_base);
  meter.end();
  return sorted;
}

}  // namespace

IngestReport run_ingest(CoordinateReader& reader, const std::filesystem::path& output, const IngestOptions& options,
                        Executor& executor, const ProgressCallback& progress) {
  check_options(options);
  ProgressMeter meter(progress);
  SortedEntries sorted = sort_entries(reader, options, Destination::container, executor, meter);
  IngestReport report = encode_container({*sorted.source, *sorted.layout, std::move(sorted.info), sorted.entries_read},
                                         options.zstd_level, output, executor, meter);
  report.entries_read = sorted.entries_read;
  report.input_format = reader.format();
  return report;
}

std::unique_ptr<ChunkSource> ingest_in_memory(CoordinateReader& reader, const IngestOptions& options,
                                              Executor& executor, const ProgressCallback& progress) {
  check_options(options);
  ProgressMeter meter(progress);
  SortedEntries sorted = sort_entries(reader, options, Destination::memory, executor, meter);
  return encode_in_memory({*sorted.source, *sorted.layout, std::move(sorted.info), sorted.entries_read}, executor,
                          meter);
}

IngestReport ingest_text(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output,
                         const IngestOptions& options, const ProgressCallback& progress) {
  ThreadPool pool(options.threads);
  check_options(options);
  const auto reader = open_tns(inputs, {options.index_base, options.skip_lines}, pool);
  return run_ingest(*reader, output, options, pool, progress);
}

IngestReport ingest_coordinates(const CoordinateArrays& arrays, const std::filesystem::path& output,
                                const IngestOptions& options, const ProgressCallback& progress) {
  ThreadPool pool(options.threads);
  IngestOptions from_zero = options;
  from_zero.index_base = 0;
  ArrayReader reader(arrays, options.shape, pool);
  return run_ingest(reader, output, from_zero, pool, progress);
}

}  // namespace blco
