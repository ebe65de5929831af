// Cells are hashed in parallel, a window at a time.
#include "engine/ingest/hold_out.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/ingest/sort/coalesce.hpp"
#include "engine/ingest/sort/run_merge.hpp"
#include "io/table/key_dictionary.hpp"

namespace blco {
namespace {

constexpr std::size_t task_entries = 4096;
constexpr std::size_t window_entries = 16 * task_entries;

std::uint64_t entry_bytes(bool has_high_word) { return has_high_word ? 24 : 16; }

void append(const SortedBatch& from, std::size_t at, SortedBatch& to) {
  to.low.push_back(from.low[at]);
  if (!from.key.empty()) to.key.push_back(from.key[at]);
  to.values.push_back(from.values[at]);
}

}  // namespace

HoldOut::HoldOut(std::unique_ptr<SortedSource> source, double share, const TensorLayout& layout,
                 std::vector<Labels> labels, const std::filesystem::path& folder, const std::string& mark,
                 Executor& executor)
    : source_(std::move(source)),
      share_(share),
      layout_(layout),
      labels_(std::move(labels)),
      executor_(executor),
      store_(folder, mark, layout.has_high_word()) {
  labels_.resize(layout.shape().size());
}

bool HoldOut::next(SortedPart& part, std::size_t max_count) {
  part.entries.clear();
  part.entries.low.reserve(max_count);
  if (layout_.has_high_word()) part.entries.key.reserve(max_count);
  part.entries.values.reserve(max_count);
  while (part.entries.count() < max_count && (at_ < window_.count || refill())) {
    is_held_[at_] ? hold(at_) : append(window_.entries, at_, part.entries);
    ++at_;
  }
  part.count = part.entries.count();
  return part.count > 0;
}

bool HoldOut::refill() {
  at_ = 0;
  if (!source_->next(window_, window_entries)) {
    window_.count = 0;
    check_parts();
    store_held();
    return false;
  }
  source_->fetch(window_);
  is_held_.resize(window_.count);
  executor_.run((window_.count + task_entries - 1) / task_entries, [this](std::size_t task) {
    choose(task * task_entries, std::min(window_.count, (task + 1) * task_entries));
  });
  count_ += window_.count;
  held_count_ += static_cast<std::uint64_t>(std::ranges::count(is_held_, true));
  return true;
}

void HoldOut::choose(std::size_t first, std::size_t last) {
  std::array<std::uint64_t, max_order> coordinates{};
  const std::span<std::uint64_t> point(coordinates.data(), labels_.size());
  const SortedBatch& entries = window_.entries;
  for (std::size_t i = first; i < last; ++i) {
    layout_.delinearize({layout_.has_high_word() ? entries.key[i] : 0, entries.low[i]}, point);
    std::uint64_t hash = 0;
    for (std::size_t n = 0; n < point.size(); ++n) {
      hash = RandomStream(hash, labels_[n].empty() ? point[n] : hash_key(labels_[n][point[n]])).bits(n);
    }
    is_held_[i] = static_cast<double>(hash >> 11) * 0x1p-53 < share_;
  }
}

void HoldOut::hold(std::size_t at) {
  append(window_.entries, at, held_);
  if (held_.count() == run_block_entries) store_held();
}

void HoldOut::store_held() {
  if (held_.count() > 0) store_.append_block(held_);
  held_.clear();
}

void HoldOut::check_parts() const {
  if (held_count_ > 0 && held_count_ < count_) return;
  refuse(option_name("hold_out") + " leaves " + (held_count_ == 0 ? "none" : "all") + " of the " +
         std::to_string(count_) + (count_ == 1 ? " cell" : " cells") + " to be held out; choose another share, " +
         "so that both containers have nonzeros");
}

std::unique_ptr<SortedSource> HoldOut::take_held_out() {
  return coalesce_run(merge_runs(store_, 0, 1, nullptr, {}, executor_), DuplicatePolicy::error, {.layout = layout_});
}

std::uint64_t HoldOut::memory_bytes(bool has_high_word) {
  return window_entries * (entry_bytes(has_high_word) + 1) + RunStore::block_bytes(has_high_word) +
         RunStore::reading_bytes(has_high_word) + 2 * RunStore::record_bytes(has_high_word);
}

}  // namespace blco
