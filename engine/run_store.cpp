// Blocks of a run are packed in parallel and written in order.
#include "engine/run_store.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "engine/merged_runs.hpp"
#include "io/packed_record.hpp"
#include "io/record_stream.hpp"

namespace blco {
namespace {

// Blocks at work per thread: enough that threads wait little for each other.
constexpr std::size_t blocks_per_thread = 4;

class SpilledRun final : public SortedRun {
 public:
  SpilledRun(RecordStream records, bool has_key) : records_(std::move(records)), has_key_(has_key) {}

  bool next(SortedBatch& block) override {
    const std::span<const std::byte> record = records_.next();
    if (record.empty()) {
      block.clear();
      return false;
    }
    const std::array columns = {&block.low, &block.key};
    read_record(record, FrameCoding::differences, std::span(columns).first(has_key_ ? 2 : 1), block.values);
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
  const std::uint64_t begin = file_.bytes();
  const std::size_t wave = blocks_per_thread * static_cast<std::size_t>(executor.width());
  std::vector<std::vector<std::byte>> packed;
  for (std::uint64_t first = 0; first < run.count(); first += wave * run_block_entries) {
    const std::uint64_t entries = std::min<std::uint64_t>(wave * run_block_entries, run.count() - first);
    packed.resize((entries + run_block_entries - 1) / run_block_entries);
    executor.run(packed.size(), [&](std::size_t i) {
      SortedBatch block;
      const std::uint64_t from = first + i * run_block_entries;
      run.copy(from, std::min<std::uint64_t>(run_block_entries, first + entries - from), block);
      packed[i] = pack(block);
    });
    write(packed);
    written(entries);
  }
  runs_.push_back({begin, file_.bytes(), run.count()});
}

void RunStore::merge(std::size_t first, std::size_t count, Executor& executor, const EntriesWritten& written) {
  Extent merged{file_.bytes(), 0, 0};
  std::vector<std::unique_ptr<SortedRun>> runs;
  for (std::size_t r = first; r < first + count; ++r) runs.push_back(open(runs_[r], least_buffer_bytes(has_key_)));
  MergedRuns source(std::move(runs), has_key_);
  const std::size_t wave = blocks_per_thread * static_cast<std::size_t>(executor.width());
  std::vector<SortedBatch> pulled;
  std::vector<std::vector<std::byte>> packed;
  const auto pull = [&] {
    std::vector<SortedBatch> blocks;
    SortedBatch block;
    while (blocks.size() < wave && source.next(block)) blocks.push_back(std::exchange(block, {}));
    return blocks;
  };
  pulled = pull();
  while (!pulled.empty() || !packed.empty()) {
    std::vector<SortedBatch> following;
    std::vector<std::vector<std::byte>> current(pulled.size());
    executor.run(pulled.size() + 1, [&](std::size_t task) {
      if (task == 0) {
        write(packed);
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
  const auto place = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  *place = merged;
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

std::vector<std::byte> RunStore::pack(const SortedBatch& block) const {
  std::vector<std::byte> record;
  const std::array<std::span<const std::uint64_t>, 2> columns = {block.low, block.key};
  append_record(std::span(columns).first(columns_of(has_key_)), FrameCoding::differences, block.values, record);
  return record;
}

void RunStore::write(const std::vector<std::vector<std::byte>>& records) {
  for (const std::vector<std::byte>& record : records) file_.append(record);
}

// The frames are decoded whole, and the columns of a block are as many as its values and keys.
std::uint64_t RunStore::block_bytes(bool has_key) { return (columns_of(has_key) + 1) * 8 * run_block_entries; }

std::uint64_t RunStore::least_buffer_bytes(bool has_key) {
  return max_record_bytes(columns_of(has_key), run_block_entries);
}

// Blocks and records of two waves, and records while they grow.
std::uint64_t RunStore::writing_bytes(bool has_key, int threads) {
  return (2 * block_bytes(has_key) + 3 * least_buffer_bytes(has_key)) * blocks_per_thread *
         static_cast<std::uint64_t>(threads);
}

}  // namespace blco
