// A core, row-major, and its unfoldings, whose columns are choices of a column of each other mode's matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/fit/column_slabs.hpp"

namespace blco {

class CoreShape {
 public:
  CoreShape(const std::vector<std::uint64_t>& shape, const std::vector<int>& ranks)
      : choices_(shape, {ranks.begin(), ranks.end()}), ranks_(ranks.begin(), ranks.end()), strides_(ranks.size(), 1) {
    for (std::size_t n = ranks_.size(); n-- > 1;) strides_[n - 1] = strides_[n] * ranks_[n];
  }

  std::size_t order() const { return ranks_.size(); }
  std::uint64_t rank(std::size_t mode) const { return ranks_[mode]; }
  std::uint64_t stride(std::size_t mode) const { return strides_[mode]; }
  std::uint64_t choices(std::size_t mode) const { return choices_.count(mode); }
  std::uint64_t most_choices() const {
    std::uint64_t most = 1;
    for (std::size_t n = 0; n < order(); ++n) most = std::max(most, choices(n));
    return most;
  }
  // Of the core.
  std::uint64_t numbers() const { return rank(0) * choices(0); }
  // Calls visit(choice, where the core has its row 0).
  template <class Visit>
  void for_each_place(std::size_t mode, std::uint64_t first, std::uint64_t count, const Visit& visit) const {
    choices_.for_each(mode, first, count, strides_, visit);
  }
  // R_n x the choices.
  std::vector<double> unfold(const std::vector<double>& core, std::size_t mode) const {
    const std::uint64_t count = choices(mode);
    std::vector<double> unfolded(core.size());
    for_each_place(mode, 0, count, [&](std::uint64_t c, std::uint64_t start) {
      for (std::uint64_t r = 0; r < rank(mode); ++r) unfolded[r * count + c] = core[start + r * stride(mode)];
    });
    return unfolded;
  }
  // Sets `count` choices from `first` on to the first columns of `unfolded`.
  void fold(const std::vector<double>& unfolded, std::size_t mode, std::uint64_t first, std::uint64_t count,
            std::vector<double>& core) const {
    const std::uint64_t width = unfolded.size() / rank(mode);
    for_each_place(mode, first, count, [&](std::uint64_t choice, std::uint64_t start) {
      const std::uint64_t c = choice - first;
      for (std::uint64_t r = 0; r < rank(mode); ++r) core[start + r * stride(mode)] = unfolded[r * width + c];
    });
  }

 private:
  ColumnChoices choices_;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> strides_;
};

}  // namespace blco
