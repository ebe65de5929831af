// Packed chunks go to a container as they are; a window of them is compressed side by side.
#include <blco/tensor_file.hpp>
#include <utility>

#include "engine/common/check_outputs.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/encode.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/container/container_writer.hpp"

namespace blco {
namespace {

ScanBudget budget_of(const ChunkSource& tensor, const SaveOptions& options) {
  const std::uint64_t packed = measure_tensor(tensor).largest_buffer();
  ScanBudget budget{.option = "memory_bytes"};
  budget.total_bytes = host_budget(options.memory_bytes);
  budget.fixed_bytes = NonzeroDecoder::memory_bytes(tensor.info());  // one mode's reordering at a time
  for (const std::uint64_t bytes : tensor.label_bytes()) budget.fixed_bytes += bytes;
  // What is stored of a column, and of those before it.
  budget.worker_bytes = packed + store_payload_bytes(packed, options.zstd_level);
  return budget;
}

StoredChunk store(const ChunkView& chunk, const Compression& compression) {
  StoredChunk stored;
  stored.lower.assign(chunk.lower.begin(), chunk.lower.end());
  stored.upper.assign(chunk.upper.begin(), chunk.upper.end());
  for (std::size_t c = 0; c < column_count; ++c) {
    stored.columns[c] = store_payload(chunk.payload[c], compression.zstd_level, compression.saving_percent);
  }
  return stored;
}

}  // namespace

void save(const Tensor& tensor, const std::filesystem::path& output, const SaveOptions& options,
          const ProgressCallback& progress) {
  const Compression compression{options.zstd_level, options.zstd_saving_percent};
  check_compression(compression);
  const ChunkSource& chunks = TensorChunks::of(tensor);
  refuse_inputs_as_outputs({tensor.summary().file}, {output});
  ThreadPool pool(scan_workers(chunks, budget_of(chunks, options), options.threads));
  ContainerWriter writer(output, chunks.info());
  ProgressMeter meter(progress);
  meter.begin({.name = "write", .nonzeros = chunks.info().nnz});
  ChunkWindow window(chunks, static_cast<std::size_t>(pool.width()), pool);
  for (auto views = window.next(); !views.empty(); views = window.next()) {
    std::vector<StoredChunk> stored(views.size());
    pool.run(views.size(), [&](std::size_t i) { stored[i] = store(views[i], compression); });
    for (std::size_t i = 0; i < views.size(); ++i) {
      std::uint64_t bytes = 0;
      for (const StoredPayload& column : stored[i].columns) bytes += column.bytes.size();
      writer.append(stored[i]);
      meter.advance(views[i].nnz, bytes);
    }
  }
  meter.end();
  for (const ReorderedMode& reordered : chunks.info().reordered) {
    writer.reorder(reordered.mode, chunks.reordering(reordered.mode));
  }
  writer.finish(chunks.info(), chunks.labels());
}

}  // namespace blco
