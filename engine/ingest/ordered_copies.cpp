// A chunk of a copy has the nonzeros of the natural chunk of the same number: that keeps them near each other in all
// modes, which decides how fast passes are where factors are larger than caches.
#include "engine/ingest/ordered_copies.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/chunk_sort.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

[[noreturn]] void refuse_budget(std::uint64_t needed, const ScanBudget& budget) {
  throw Error(ErrorKind::out_of_memory, "copies in the orders of modes require at least " + format_bytes(needed) +
                                            " of memory, but the budget is " + format_bytes(budget.total_bytes) +
                                            "; give at least " + option_name(budget.option, as_budget(needed)));
}

EncodeSizes sizes_of(const ContainerInfo& info, const TensorLayout& layout, const CopyJob& job) {
  return {.has_high_word = layout.has_high_word(),
          .chunk_nnz = std::min(info.chunk_nnz, info.nnz),
          .chunk_count = info.chunk_count(),
          .zstd_level = job.compression.zstd_level,
          .threads = job.executor.width()};
}

// Of a plan, where reading a chunk takes `reading_bytes`. A chunk is encoded when it has been sorted.
std::uint64_t copy_bytes(const EncodeSizes& sizes, const EncodePlan& plan, std::uint64_t reading_bytes) {
  const std::uint64_t sorting = ChunkSort::bytes(sizes.has_high_word, sizes.chunk_nnz, reading_bytes);
  const std::uint64_t encoding = encode_bytes(sizes, {});
  const std::uint64_t at_work = std::min(plan.chunks_at_once, static_cast<std::uint64_t>(sizes.threads));
  return encode_bytes(sizes, plan) + at_work * (std::max(sorting, encoding) - encoding);
}

// The fastest plan within the budget, beside `held_bytes`.
EncodePlan plan_copy(const ChunkSource& natural, const EncodeSizes& sizes, std::uint64_t held_bytes,
                     const ScanBudget& budget) {
  const TensorSizes of_chunks = measure_tensor(natural);
  const std::uint64_t reading = of_chunks.largest_buffer() + of_chunks.largest_scratch();
  const std::uint64_t fixed = max_program_bytes + of_chunks.table_bytes + held_bytes + budget.fixed_bytes;
  std::uint64_t needed = 0;
  for (std::uint64_t chunks = std::min(sizes.chunk_count, static_cast<std::uint64_t>(sizes.threads)); chunks > 0;
       --chunks) {
    for (const bool overlaps : {true, false}) {
      const EncodePlan plan{chunks, overlaps};
      needed = fixed + copy_bytes(sizes, plan, reading);
      if (needed <= budget.total_bytes) return plan;
    }
  }
  refuse_budget(needed, budget);
}

// Gives chunks by their numbers, which fetch() reads and sorts.
class ReorderedChunks final : public SortedSource {
 public:
  ReorderedChunks(const ChunkSource& natural, const TensorLayout& layout)
      : natural_(natural), layout_(layout), sort_(natural) {}

  bool next(SortedPart& part, std::size_t) override {
    const ContainerInfo& info = natural_.info();
    if (next_ == info.chunk_count()) return false;
    part.first = next_ * info.chunk_nnz;
    part.count = info.nnz_of_chunk(next_++);
    return true;
  }

  void fetch(SortedPart& part) const override {
    sort_.run(part.first / natural_.info().chunk_nnz, layout_, part.entries);
  }

 private:
  const ChunkSource& natural_;
  const TensorLayout& layout_;
  ChunkSort sort_;
  std::uint64_t next_ = 0;
};

// With `held_bytes` for chunks in memory.
void make_copy(const ChunkSource& natural, const TensorLayout& layout, std::uint64_t held_bytes, const CopyJob& job,
               const ChunkSink& sink, OrderedMode& mode) {
  const EncodePlan plan = plan_copy(natural, sizes_of(natural.info(), layout, job), held_bytes, job.budget);
  ReorderedChunks source(natural, layout);
  ContainerInfo info = natural.info();
  info.bit_modes = layout.bit_modes();
  EncodeInput input{source, layout, std::move(info), natural.info().nnz};
  job.meter.begin({.name = "copy", .nonzeros = natural.info().nnz});
  const IngestReport report = encode_chunks(input, plan, job.compression, sink, job.executor, job.meter);
  job.meter.end();
  mode.index = report.index;
  mode.value = report.value;
}

// Of modes that were named and get no copy. `names` may be shorter than the order.
void add_notes(const OrderRequest& request, const std::vector<OrderedMode>& modes,
               const std::vector<std::string>& names, std::vector<std::string>& notes) {
  if (!request.by_name) return;
  for (const OrderedMode& mode : modes) {
    if (mode.has_copy) continue;
    const std::string name = mode.mode < names.size() ? names[mode.mode] : "mode" + std::to_string(mode.mode);
    notes.push_back("the mode " + quoted_for_message(name) +
                    " needs no copy: the natural order is its order, and its passes read that");
  }
}

}  // namespace

ScanBudget copy_budget(std::uint64_t memory_bytes, std::uint64_t held_bytes) {
  return {.total_bytes = host_budget(memory_bytes), .fixed_bytes = held_bytes, .option = "memory_bytes"};
}

void check_copies(const OrderRequest& request, const TensorLayout& layout, std::uint64_t chunk_nnz, int zstd_level,
                  const ScanBudget& budget) {
  if (request.is_empty()) return;
  const EncodeSizes sizes{.has_high_word = layout.has_high_word(), .chunk_nnz = chunk_nnz, .zstd_level = zstd_level};
  // Its columns, and one that is decompressed.
  const std::uint64_t reading = (sizes.has_high_word ? 4 : 3) * max_payload_bytes(chunk_nnz);
  const std::uint64_t needed =
      max_program_bytes + budget.fixed_bytes +
      std::max(copy_bytes(sizes, {}, reading), order_choice_bytes(sizes.has_high_word, chunk_nnz, reading));
  if (needed > budget.total_bytes) refuse_budget(needed, budget);
}

static void prepare(const ChunkSource& natural, const OrderRequest& request, const CopyJob& job) {
  ScanBudget budget = job.budget;
  budget.fixed_bytes += natural.held_bytes();
  const ContainerInfo& info = natural.info();
  check_copies(request, layout_of(info), std::min(info.chunk_nnz, info.nnz), job.compression.zstd_level, budget);
  release_freed_memory();
}

void write_copies(ContainerWriter& writer, const ContainerInfo& info, const OrderRequest& request, const CopyJob& job,
                  IngestReport& report) {
  if (request.is_empty()) return;
  const std::unique_ptr<ChunkSource> natural = writer.natural_chunks(info);
  prepare(*natural, request, job);
  std::vector<OrderedMode> modes = choose_orders(*natural, request, job.budget, job.executor, job.meter);
  for (OrderedMode& mode : modes) {
    if (!mode.has_copy) continue;
    const TensorLayout layout(info.shape, bit_modes_of(info.shape, mode));
    writer.begin_copy(mode.mode, layout.bit_modes());
    make_copy(
        *natural, layout, natural->held_bytes(), job, [&](StoredChunk&& chunk) { writer.append(chunk); }, mode);
  }
  add_notes(request, modes, info.mode_names, report.notes);
  report.ordered_modes = std::move(modes);
}

void pack_copies(PackedChunks& natural, const OrderRequest& request, const CopyJob& job,
                 std::vector<std::string>& notes) {
  if (request.is_empty()) return;
  prepare(natural, request, job);
  std::vector<OrderedMode> modes = choose_orders(natural, request, job.budget, job.executor, job.meter);
  for (OrderedMode& mode : modes) {
    if (!mode.has_copy) continue;
    ContainerInfo info = natural.info();
    const TensorLayout layout(info.shape, bit_modes_of(info.shape, mode));
    info.bit_modes = layout.bit_modes();
    const std::uint64_t held_bytes = natural.held_bytes() + max_packed_bytes(sizes_of(info, layout, job));
    std::vector<StoredChunk> chunks;
    make_copy(
        natural, layout, held_bytes, job, [&](StoredChunk&& chunk) { chunks.push_back(std::move(chunk)); }, mode);
    std::vector<std::vector<std::uint32_t>> no_reorderings(info.shape.size());
    natural.add_copy(mode.mode, std::make_unique<PackedChunks>(std::move(info), std::move(chunks),
                                                               std::move(no_reorderings), std::vector<Labels>{}));
  }
  add_notes(request, modes, natural.info().mode_names, notes);
}

}  // namespace blco
