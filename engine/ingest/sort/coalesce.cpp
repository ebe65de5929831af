// Coalescing of one run; the only place that knows duplicates.
#include "engine/ingest/sort/coalesce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "blco/coalesce_values.hpp"
#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

std::string coordinates_of(const LineIndex& line, const LineNames& names) {
  std::array<std::uint64_t, max_order> coordinates{};
  const std::span<std::uint64_t> point(coordinates.data(), static_cast<std::size_t>(names.layout.order()));
  names.layout.delinearize(line, point);
  std::string text = "(";
  for (std::size_t n = 0; n < point.size(); ++n) {
    const std::uint64_t row = names.reordering == nullptr ? point[n] : names.reordering->original(n, point[n]);
    if (text.size() > 1) text += ", ";
    const bool labelled = n < names.labels.size() && row < names.labels[n].size();
    text += labelled ? quoted_for_message(names.labels[n][row])
                     : std::to_string(row + static_cast<std::uint64_t>(names.index_base));
  }
  return text + ")";
}

[[noreturn]] void refuse(const LineIndex& line, DuplicatePolicy policy, const LineNames& names) {
  const std::string coordinates = coordinates_of(line, names);
  throw Error(ErrorKind::invalid_argument, policy == DuplicatePolicy::error
                                               ? "the coordinates " + coordinates + " occur more than once; choose " +
                                                     option_name("duplicates", "sum") +
                                                     ", mean, first, last, max or count to combine their values"
                                               : "the values at the coordinates " + coordinates +
                                                     " sum to more than a double can hold; scale the values down");
}

class CoalescedMemory final : public SortedSource {
 public:
  CoalescedMemory(std::unique_ptr<MemoryRun> run, DuplicatePolicy policy, LineNames names, Executor& executor)
      : run_(std::move(run)), policy_(policy), names_(std::move(names)), executor_(&executor) {}

  bool next(SortedPart& part, std::size_t max_count) override {
    if (!is_coalesced_) {
      if (const auto refused = run_->coalesce_all(policy_, *executor_)) refuse(*refused, policy_, names_);
      is_coalesced_ = true;
    }
    part.first = taken_;
    part.count = static_cast<std::size_t>(std::min<std::uint64_t>(max_count, run_->count() - taken_));
    taken_ += part.count;
    return part.count > 0;
  }

  void fetch(SortedPart& part) const override { run_->copy(part.first, part.count, part.entries); }

  std::optional<DevicePackedChunk> pack(const SortedPart& part) const override {
    return run_->pack(part.first, part.count);
  }

 private:
  std::unique_ptr<MemoryRun> run_;
  DuplicatePolicy policy_;
  LineNames names_;
  Executor* executor_;
  bool is_coalesced_ = false;
  std::uint64_t taken_ = 0;
};

class CoalescedRun final : public SortedSource {
 public:
  CoalescedRun(std::unique_ptr<SortedRun> run, DuplicatePolicy policy, LineNames names)
      : run_(std::move(run)), has_high_word_(names.layout.has_high_word()), policy_(policy), names_(std::move(names)) {}

  bool next(SortedPart& part, std::size_t max_count) override {
    part.entries.clear();
    fill(part.entries, max_count);
    part.count = part.entries.count();
    return part.count > 0;
  }

 private:
  void fill(SortedBatch& batch, std::size_t max_count) {
    batch.low.reserve(max_count);
    if (has_high_word_) batch.key.reserve(max_count);
    batch.values.reserve(max_count);
    while (true) {
      if (at_ == window_.count() && !refill()) break;
      if (run_->is_coalesced()) {
        append_coalesced(batch, std::min(window_.count() - at_, max_count - batch.count()));
        if (batch.count() == max_count) break;
        continue;
      }
      if (batch.count() > 0 && same_line_as_last(batch)) {
        coalesce(batch);
      } else if (batch.count() == max_count) {
        break;
      } else {
        finish_last(batch);
        append(batch);
      }
      ++at_;
    }
    finish_last(batch);
  }

  bool refill() {
    at_ = 0;
    return run_->next(window_);
  }

  bool same_line_as_last(const SortedBatch& batch) const {
    return batch.low.back() == window_.low[at_] && (!has_high_word_ || batch.key.back() == window_.key[at_]);
  }

  void append(SortedBatch& batch) {
    batch.low.push_back(window_.low[at_]);
    if (has_high_word_) batch.key.push_back(window_.key[at_]);
    batch.values.push_back(window_.values[at_]);
    coalesced_ = 1;
  }

  void finish_last(SortedBatch& batch) {
    if (coalesced_ > 1) batch.values.back() = finish_coalesce(policy_, batch.values.back(), coalesced_);
    coalesced_ = 0;
  }

  void append_coalesced(SortedBatch& batch, std::size_t count) {
    const auto append_to = [&](auto& to, const auto& from) {
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(at_);
      to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
    };
    append_to(batch.low, window_.low);
    if (has_high_word_) append_to(batch.key, window_.key);
    append_to(batch.values, window_.values);
    at_ += count;
    const auto added = std::span(batch.values).last(count);
    const auto found = std::ranges::find_if_not(added, [](double value) { return std::isfinite(value); });
    if (found == added.end()) return;
    const std::size_t kept = batch.count() - static_cast<std::size_t>(added.end() - found) + 1;
    batch.low.resize(kept);
    if (has_high_word_) batch.key.resize(kept);
    refuse_last(batch);
  }

  [[noreturn]] void refuse_last(const SortedBatch& batch) const {
    refuse({has_high_word_ ? batch.key.back() : 0, batch.low.back()}, policy_, names_);
  }

  void coalesce(SortedBatch& batch) {
    ++coalesced_;
    double& value = batch.values.back();
    const double other = window_.values[at_];
    if (policy_ != DuplicatePolicy::error) value = coalesce_values(policy_, value, other);
    if (policy_ == DuplicatePolicy::error || !std::isfinite(value)) refuse_last(batch);
  }

  std::unique_ptr<SortedRun> run_;
  bool has_high_word_;
  DuplicatePolicy policy_;
  LineNames names_;
  SortedBatch window_;
  std::size_t at_ = 0;
  std::uint64_t coalesced_ = 0;  // entries in the last nonzero of the batch
};

}  // namespace

std::unique_ptr<SortedSource> coalesce_run(std::unique_ptr<SortedRun> run, DuplicatePolicy policy, LineNames names) {
  return std::make_unique<CoalescedRun>(std::move(run), policy, std::move(names));
}

std::unique_ptr<SortedSource> coalesce_in_memory(std::unique_ptr<MemoryRun> run, DuplicatePolicy policy,
                                                 LineNames names, Executor& executor) {
  return std::make_unique<CoalescedMemory>(std::move(run), policy, std::move(names), executor);
}

}  // namespace blco
