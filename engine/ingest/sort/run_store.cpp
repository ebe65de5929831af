// Blocks of a run are packed in parallel and written in order.
#include "engine/ingest/sort/run_store.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/ingest/sort/run_merge.hpp"
#include "io/file/packed_record.hpp"

namespace blco {
namespace {

// Blocks at work per thread: enough that threads wait little for each other.
constexpr std::size_t blocks_per_thread = 4;

std::uint64_t columns_of(bool has_high_word) { return has_high_word ? 2 : 1; }

}  // namespace

void RunStore::append(const MemoryRun& run, Executor& executor, const EntriesWritten& written) {
  std::vector<PackedBlock> blocks;
  const std::size_t wave = blocks_per_thread * static_cast<std::size_t>(executor.width());
  std::vector<Packed> packed;
  for (std::uint64_t first = 0; first < run.count(); first += wave * run_block_entries) {
    const std::uint64_t entries = std::min<std::uint64_t>(wave * run_block_entries, run.count() - first);
    packed.resize((entries + run_block_entries - 1) / run_block_entries);
    executor.run(packed.size(), [&](std::size_t i) {
      SortedBatch block;
      const std::uint64_t from = first + i * run_block_entries;
      run.copy(from, std::min<std::uint64_t>(run_block_entries, first + entries - from), block);
      packed[i] = pack(block);
    });
    write(packed, blocks);
    written(entries);
  }
  block_count_ += blocks.size();
  runs_.push_back(std::move(blocks));
}

void RunStore::append_block(const SortedBatch& block) {
  if (runs_.empty()) runs_.emplace_back();
  write({pack(block)}, runs_.back());
  ++block_count_;
}

void RunStore::merge(std::size_t first, std::size_t count, Executor& executor, const EntriesWritten& written) {
  std::vector<PackedBlock> merged;
  SerialExecutor own;  // the others pack meanwhile
  const std::unique_ptr<SortedRun> source = merge_runs(*this, first, count, nullptr, {}, own);
  const std::size_t wave = blocks_per_thread * static_cast<std::size_t>(executor.width());
  std::vector<SortedBatch> pulled;
  std::vector<Packed> packed;
  const auto pull = [&] {
    std::vector<SortedBatch> blocks;
    SortedBatch block;
    while (blocks.size() < wave && source->next(block)) blocks.push_back(std::exchange(block, {}));
    return blocks;
  };
  pulled = pull();
  while (!pulled.empty() || !packed.empty()) {
    std::vector<SortedBatch> following;
    std::vector<Packed> current(pulled.size());
    executor.run(pulled.size() + 1, [&](std::size_t task) {
      if (task == 0) {
        write(packed, merged);
        following = pull();
      } else {
        current[task - 1] = pack(pulled[task - 1]);
      }
    });
    std::uint64_t entries = 0;
    for (const SortedBatch& block : pulled) entries += block.count();
    pulled = std::move(following);
    packed = std::move(current);
    written(entries);
  }
  block_count_ += merged.size();
  for (std::size_t r = first; r < first + count; ++r) block_count_ -= runs_[r].size();
  const auto place = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  *place = std::move(merged);
  runs_.erase(place + 1, place + static_cast<std::ptrdiff_t>(count));
}

RunStore::Packed RunStore::pack(const SortedBatch& block) const {
  Packed packed;
  packed.first = {has_high_word_ ? block.key[0] : 0, block.low[0]};
  packed.count = static_cast<std::uint32_t>(block.count());
  const std::array<std::span<const std::uint64_t>, 2> columns = {block.low, block.key};
  append_record(std::span(columns).first(columns_of(has_high_word_)), FrameCoding::differences, block.values,
                packed.record);
  return packed;
}

void RunStore::write(const std::vector<Packed>& packed, std::vector<PackedBlock>& blocks) {
  for (const Packed& block : packed) {
    const std::uint64_t offset = file_.append(block.record);
    blocks.push_back({block.first, offset, static_cast<std::uint32_t>(block.record.size()), block.count});
  }
}

void RunStore::read(const PackedBlock& block, SortedBatch& entries) const {
  std::vector<std::uint64_t> record(block.bytes / 8);  // words, so that it is aligned
  file_.read(block.offset, std::as_writable_bytes(std::span(record)));
  const std::array columns = {&entries.low, &entries.key};
  read_record(std::as_bytes(std::span(record)), FrameCoding::differences,
              std::span(columns).first(columns_of(has_high_word_)), entries.values);
}

// The frames are decoded whole, and the columns of a block are as many as its values and keys.
std::uint64_t RunStore::block_bytes(bool has_high_word) {
  return (columns_of(has_high_word) + 1) * 8 * run_block_entries;
}

std::uint64_t RunStore::record_bytes(bool has_high_word) {
  return max_record_bytes(columns_of(has_high_word), run_block_entries);
}

// Blocks and records of two waves, and records while they grow.
std::uint64_t RunStore::writing_bytes(bool has_high_word, int threads) {
  return (2 * block_bytes(has_high_word) + 3 * record_bytes(has_high_word)) * blocks_per_thread *
         static_cast<std::uint64_t>(threads);
}

}  // namespace blco
