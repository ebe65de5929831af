// Blocks of a run are packed in parallel and written in order.
#include "engine/ingest/sort/run_store.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "engine/ingest/sort/merged_runs.hpp"
#include "io/file/packed_record.hpp"

namespace blco {
namespace {

// Blocks at work per thread: enough that threads wait little for each other.
constexpr std::size_t blocks_per_thread = 4;

void unpack_block(std::span<const std::byte> record, bool has_key, SortedBatch& block) {
  const std::array columns = {&block.low, &block.key};
  read_record(record, FrameCoding::differences, std::span(columns).first(has_key ? 2 : 1), block.values);
}

class SpilledRun final : public SortedRun {
 public:
  SpilledRun(RecordStream records, bool has_key) : records_(std::move(records)), has_key_(has_key) {}

  bool next(SortedBatch& block) override {
    const std::span<const std::byte> record = records_.next();
    if (record.empty()) {
      block.clear();
      return false;
    }
    unpack_block(record, has_key_, block);
    return true;
  }

 private:
  RecordStream records_;
  bool has_key_;
};

std::uint64_t columns_of(bool has_key) { return has_key ? 2 : 1; }

}  // namespace

std::uint64_t RunStore::entry_count() const {
  return std::accumulate(runs_.begin(), runs_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Extent& run) { return sum + run.entries; });
}

void RunStore::append(const MemoryRun& run, Executor& executor, const EntriesWritten& written) {
  Extent extent{file_.bytes(), 0, run.count(), {}};
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
    write(packed, extent);
    written(entries);
  }
  extent.end = file_.bytes();
  runs_.push_back(std::move(extent));
}

void RunStore::merge(std::size_t first, std::size_t count, Executor& executor, const EntriesWritten& written) {
  Extent merged{file_.bytes(), 0, 0, {}};
  std::vector<std::unique_ptr<SortedRun>> runs;
  for (std::size_t r = first; r < first + count; ++r) runs.push_back(open(runs_[r], min_buffer_bytes(has_key_)));
  MergedRuns source(std::move(runs), has_key_);
  const std::size_t wave = blocks_per_thread * static_cast<std::size_t>(executor.width());
  std::vector<SortedBatch> pulled;
  std::vector<Packed> packed;
  const auto pull = [&] {
    std::vector<SortedBatch> blocks;
    SortedBatch block;
    while (blocks.size() < wave && source.next(block)) blocks.push_back(std::exchange(block, {}));
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
    merged.entries += entries;
    pulled = std::move(following);
    packed = std::move(current);
    written(entries);
  }
  merged.end = file_.bytes();
  for (std::size_t r = first; r < first + count; ++r) block_count_ -= runs_[r].blocks.size();
  const auto place = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  *place = std::move(merged);
  runs_.erase(place + 1, place + static_cast<std::ptrdiff_t>(count));
}

std::vector<std::unique_ptr<SortedRun>> RunStore::open(std::uint64_t buffer_bytes) const {
  std::vector<std::unique_ptr<SortedRun>> runs;
  for (const Extent& extent : runs_) runs.push_back(open(extent, buffer_bytes));
  return runs;
}

std::unique_ptr<SortedRun> RunStore::open(const Extent& extent, std::uint64_t buffer_bytes) const {
  return std::make_unique<SpilledRun>(RecordStream(file_, extent.begin, extent.end, buffer_bytes), has_key_);
}

RunStore::Packed RunStore::pack(const SortedBatch& block) const {
  Packed packed;
  packed.first = {has_key_ ? block.key[0] : 0, block.low[0]};
  packed.count = static_cast<std::uint32_t>(block.count());
  const std::array<std::span<const std::uint64_t>, 2> columns = {block.low, block.key};
  append_record(std::span(columns).first(columns_of(has_key_)), FrameCoding::differences, block.values, packed.record);
  return packed;
}

void RunStore::write(const std::vector<Packed>& packed, Extent& extent) {
  for (const Packed& block : packed) {
    const std::uint64_t offset = file_.append(block.record);
    extent.blocks.push_back({block.first, offset, static_cast<std::uint32_t>(block.record.size()), 0, block.count});
    ++block_count_;
  }
}

std::vector<PackedBlock> RunStore::forecast() const {
  std::vector<PackedBlock> blocks;
  blocks.reserve(block_count_);
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    for (PackedBlock block : runs_[run].blocks) {
      block.run = static_cast<std::uint32_t>(run);
      blocks.push_back(block);
    }
  }
  return blocks;
}

void RunStore::read(const PackedBlock& block, SortedBatch& entries) const {
  std::vector<std::uint64_t> record(block.bytes / 8);  // words, so that it is aligned
  file_.read(block.offset, std::as_writable_bytes(std::span(record)));
  unpack_block(std::as_bytes(std::span(record)), has_key_, entries);
}

// The frames are decoded whole, and the columns of a block are as many as its values and keys.
std::uint64_t RunStore::block_bytes(bool has_key) { return (columns_of(has_key) + 1) * 8 * run_block_entries; }

std::uint64_t RunStore::min_buffer_bytes(bool has_key) {
  return max_record_bytes(columns_of(has_key), run_block_entries);
}

// Blocks and records of two waves, and records while they grow.
std::uint64_t RunStore::writing_bytes(bool has_key, int threads) {
  return (2 * block_bytes(has_key) + 3 * min_buffer_bytes(has_key)) * blocks_per_thread *
         static_cast<std::uint64_t>(threads);
}

}  // namespace blco
