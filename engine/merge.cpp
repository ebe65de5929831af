// Folding of one run; the only place that knows duplicates.
#include "engine/merge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "engine/duplicates.hpp"

namespace blco {
namespace {

class FoldedRun final : public SortedSource {
 public:
  FoldedRun(std::unique_ptr<SortedRun> run, const TensorLayout& layout, DuplicatePolicy policy, int index_base,
            const Relabelling* relabelling)
      : run_(std::move(run)), layout_(&layout), relabelling_(relabelling), policy_(policy), index_base_(index_base) {}

  bool next(SortedBatch& batch, std::size_t most) override {
    batch.clear();
    batch.low.reserve(most);
    if (layout_->has_key()) batch.key.reserve(most);
    batch.values.reserve(most);
    while (true) {
      if (at_ == window_.count() && !refill()) break;
      if (run_->is_folded()) {
        append_folded(batch, std::min(window_.count() - at_, most - batch.count()));
        if (batch.count() == most) break;
        continue;
      }
      if (batch.count() > 0 && same_line_as_last(batch)) {
        fold(batch);
      } else if (batch.count() == most) {
        break;
      } else {
        append(batch);
      }
      ++at_;
    }
    return batch.count() > 0;
  }

 private:
  bool refill() {
    at_ = 0;
    return run_->next(window_);
  }

  bool same_line_as_last(const SortedBatch& batch) const {
    return batch.low.back() == window_.low[at_] && (!layout_->has_key() || batch.key.back() == window_.key[at_]);
  }

  void append(SortedBatch& batch) const {
    batch.low.push_back(window_.low[at_]);
    if (layout_->has_key()) batch.key.push_back(window_.key[at_]);
    batch.values.push_back(window_.values[at_]);
  }

  void append_folded(SortedBatch& batch, std::size_t count) {
    const auto append_to = [&](auto& to, const auto& from) {
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(at_);
      to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
    };
    append_to(batch.low, window_.low);
    if (layout_->has_key()) append_to(batch.key, window_.key);
    append_to(batch.values, window_.values);
    at_ += count;
    const auto added = std::span(batch.values).last(count);
    const auto found = std::ranges::find_if_not(added, [](double value) { return std::isfinite(value); });
    if (found == added.end()) return;
    const std::size_t kept = batch.count() - static_cast<std::size_t>(added.end() - found) + 1;
    batch.low.resize(kept);
    if (layout_->has_key()) batch.key.resize(kept);
    refuse_sum(batch);
  }

  [[noreturn]] void refuse_sum(const SortedBatch& batch) const {
    fail("the values at coordinates " + last_coordinates(batch) +
         " sum to more than a double can hold; scale the values down");
  }

  void fold(SortedBatch& batch) const {
    double& value = batch.values.back();
    const double other = window_.values[at_];
    if (policy_ == DuplicatePolicy::error) {
      fail("the coordinates " + last_coordinates(batch) +
           " occur more than once; choose --duplicates sum, first, last or max to fold them");
    }
    value = fold_values(policy_, value, other);
    if (!std::isfinite(value)) refuse_sum(batch);
  }

  std::string last_coordinates(const SortedBatch& batch) const {
    std::array<std::uint64_t, max_order> coordinates{};
    const std::span<std::uint64_t> point(coordinates.data(), static_cast<std::size_t>(layout_->order()));
    layout_->delinearize({layout_->has_key() ? batch.key.back() : 0, batch.low.back()}, point);
    std::string text = "(";
    for (std::size_t n = 0; n < point.size(); ++n) {
      const std::uint64_t coordinate = relabelling_ == nullptr ? point[n] : relabelling_->original(n, point[n]);
      if (text.size() > 1) text += ", ";
      text += std::to_string(coordinate + static_cast<std::uint64_t>(index_base_));
    }
    return text + ")";
  }

  [[noreturn]] static void fail(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

  std::unique_ptr<SortedRun> run_;
  const TensorLayout* layout_;
  const Relabelling* relabelling_;
  DuplicatePolicy policy_;
  int index_base_;
  SortedBatch window_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<SortedSource> fold_run(std::unique_ptr<SortedRun> run, const TensorLayout& layout,
                                       DuplicatePolicy policy, int index_base, const Relabelling* relabelling) {
  return std::make_unique<FoldedRun>(std::move(run), layout, policy, index_base, relabelling);
}

}  // namespace blco
