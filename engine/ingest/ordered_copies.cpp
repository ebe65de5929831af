// The natural chunks are the input of a sort like any other, but for duplicates, which they do not have.
#include "engine/ingest/ordered_copies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/common/memory.hpp"
#include "engine/ingest/sort/coalesce.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_sizes.hpp"

namespace blco {
namespace {

// What a thread decodes at a time, and a batch at most. A batch takes no more than this part of the memory.
constexpr std::size_t task_frames = 16;
constexpr std::uint64_t most_frames = 512;
constexpr std::uint64_t batch_part = 64;

// Entry-major, from column by column.
template <class Coordinate>
void transpose(const NonzeroFrame& from, std::size_t order, Coordinate* to) {
  for (std::size_t n = 0; n < order; ++n) {
    const std::uint64_t* const column = from.coordinates[n].data();
    for (std::size_t i = 0; i < from.count; ++i) to[i * order + n] = static_cast<Coordinate>(column[i]);
  }
}

// The nonzeros of a chunk's frames, with the indices that the container has.
CoordinateBatch read_batch(const NonzeroReader& nonzeros, const std::vector<std::uint64_t>& shape, bool is_narrow,
                           Executor& executor) {
  CoordinateBatch batch;
  batch.resize(nonzeros.count(), shape.size(), is_narrow);
  const std::size_t frames = nonzeros.frames();
  executor.run((frames + task_frames - 1) / task_frames, [&](std::size_t task) {
    NonzeroFrame decoded;
    for (std::size_t frame = task * task_frames; frame < std::min(frames, (task + 1) * task_frames); ++frame) {
      nonzeros.decode(frame, decoded);
      const std::size_t first = frame * frame_entries;
      if (is_narrow) {
        transpose(decoded, shape.size(), batch.narrow.data() + first * shape.size());
      } else {
        transpose(decoded, shape.size(), batch.wide.data() + first * shape.size());
      }
      std::copy_n(decoded.values.begin(), decoded.count, batch.values.begin() + static_cast<std::ptrdiff_t>(first));
    }
  });
  for (const std::uint64_t length : shape) batch.upper.push_back(length - 1);
  return batch;
}

std::uint64_t frame_bytes(const ContainerInfo& info) {
  return frame_entries * (info.shape.size() + 1) * sizeof(std::uint64_t);
}

std::size_t frames_of_batch(const ContainerInfo& info, std::uint64_t memory_bytes) {
  return std::clamp<std::uint64_t>(memory_bytes / batch_part / frame_bytes(info), task_frames, most_frames);
}

void add_nonzeros(const ChunkSource& natural, std::size_t batch_frames, ExternalSort& sort, const CopyJob& job) {
  const ContainerInfo& info = natural.info();
  const bool is_narrow =
      std::ranges::all_of(info.shape, [](std::uint64_t length) { return length <= std::uint64_t{1} << 32; });
  NonzeroReader nonzeros(natural, 1, job.executor, Indices::stored);
  job.meter.begin({.name = "copy", .nonzeros = info.nnz});
  std::uint64_t bytes_before = 0;
  while (nonzeros.next(batch_frames)) {
    const std::uint64_t read = nonzeros.first() + nonzeros.count();
    sort.add(read_batch(nonzeros, info.shape, is_narrow, job.executor),
             static_cast<double>(read) / static_cast<double>(info.nnz));
    job.meter.advance(nonzeros.count(), nonzeros.bytes_read() - bytes_before);
    bytes_before = nonzeros.bytes_read();
  }
  job.meter.end();
}

void make_copy(const ChunkSource& natural, const TensorLayout& layout, const CopyJob& job, const ChunkSink& sink,
               OrderedMode& mode) {
  SortSetup setup = job.setup;
  setup.sizes.line_bits = layout.line_bits();
  setup.sizes.chunk_nnz = natural.info().chunk_nnz;
  setup.sizes.expected_entries = natural.info().nnz;
  setup.budget.held_bytes += natural.held_bytes();
  const std::size_t batch_frames = frames_of_batch(natural.info(), setup.budget.available_bytes());
  const TensorSizes sizes = measure_tensor(natural);
  setup.budget.reader_bytes =
      sizes.largest_buffer() + sizes.largest_scratch() + batch_frames * frame_bytes(natural.info());
  ExternalSort sort(setup, DuplicatePolicy::error, job.executor, job.meter);
  sort.set_layout(layout);
  add_nonzeros(natural, batch_frames, sort, job);
  ExternalSort::Result sorted = sort.finish(layout);
  const std::unique_ptr<SortedSource> source =
      sorted.memory ? coalesce_in_memory(std::move(sorted.memory), DuplicatePolicy::error, {layout}, job.executor)
                    : coalesce_run(std::move(sorted.run), DuplicatePolicy::error, {layout});
  ContainerInfo info = natural.info();
  info.bit_modes = layout.bit_modes();
  EncodeInput input{*source, layout, std::move(info), natural.info().nnz};
  job.meter.begin({.name = "write", .nonzeros = natural.info().nnz});
  const IngestReport report = encode_chunks(input, sorted.plan, job.compression, sink, job.executor, job.meter);
  job.meter.end();
  mode.index = report.index;
  mode.value = report.value;
}

// begin(mode, bits) returns what takes the chunks of a copy.
template <class Begin>
std::vector<OrderedMode> make_copies(const ChunkSource& natural, const OrderRequest& request, const CopyJob& job,
                                     const Begin& begin) {
  release_freed_memory();
  const IngestBudget& all = job.setup.budget;
  const ScanBudget budget{
      .total_bytes = all.total_bytes, .fixed_bytes = all.key_bytes + all.held_bytes, .option = "memory_bytes"};
  std::vector<OrderedMode> modes = choose_orders(natural, request, budget, job.executor.width(), job.meter);
  for (OrderedMode& mode : modes) {
    if (!mode.has_copy) continue;
    const BitModes bits = bit_modes_of(natural.info().shape, mode);
    make_copy(natural, TensorLayout(natural.info().shape, bits), job, begin(mode.mode, bits), mode);
    release_freed_memory();
  }
  return modes;
}

}  // namespace

std::vector<OrderedMode> write_copies(ContainerWriter& writer, const ContainerInfo& info, const OrderRequest& request,
                                      const CopyJob& job) {
  if (request.is_empty()) return {};
  const std::unique_ptr<ChunkSource> natural = writer.natural_chunks(info);
  return make_copies(*natural, request, job, [&](std::uint64_t mode, const BitModes& bits) -> ChunkSink {
    writer.begin_copy(mode, bits);
    return [&](StoredChunk&& chunk) { writer.append(chunk); };
  });
}

void pack_copies(PackedChunks& natural, const OrderRequest& request, const CopyJob& job) {
  if (request.is_empty()) return;
  std::uint64_t last_mode = 0;
  std::optional<ContainerInfo> last_info;
  std::vector<StoredChunk> chunks;
  const auto keep_last = [&] {
    if (!last_info) return;
    std::vector<std::vector<std::uint32_t>> no_reorderings(last_info->shape.size());
    natural.add_copy(last_mode, std::make_unique<PackedChunks>(std::move(*last_info), std::exchange(chunks, {}),
                                                               std::move(no_reorderings), std::vector<Labels>{}));
    last_info.reset();
  };
  make_copies(natural, request, job, [&](std::uint64_t mode, const BitModes& bits) -> ChunkSink {
    keep_last();
    last_mode = mode;
    last_info = natural.info();
    last_info->bit_modes = bits;
    return [&](StoredChunk&& chunk) { chunks.push_back(std::move(chunk)); };
  });
  keep_last();
}

}  // namespace blco
