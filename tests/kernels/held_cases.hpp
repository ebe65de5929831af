// Rows that a backend holds of a random tensor, and what of whole matrices it then has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/pass_request.hpp"
#include "kernels/row_index.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {

inline std::shared_ptr<const RowIndex> index_of(std::span<const std::uint64_t> rows, std::uint64_t length) {
  std::vector<std::uint64_t> bits((length + 63) / 64);
  for (const std::uint64_t row : rows) bits[row / 64] |= std::uint64_t{1} << row % 64;
  return std::make_shared<const RowIndex>(bits);
}

// In `modes`, the rows that entries have, and about a third of the others; in other modes all.
class HeldCase {
 public:
  HeldCase(const CooTensor& tensor, ModeSet modes, std::uint64_t seed = 1) : shape_(tensor.shape) {
    std::mt19937_64 random(seed);
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
      const bool takes_all = !has_mode(modes, static_cast<int>(mode));
      std::vector<bool> is_held(tensor.shape[mode]);
      for (std::size_t i = 0; i < tensor.nnz(); ++i) is_held[tensor.coordinate(i, mode)] = true;
      rows_.emplace_back();
      for (std::uint64_t row = 0; row < tensor.shape[mode]; ++row) {
        if (is_held[row] || random() % 3 == 0 || takes_all) rows_.back().push_back(row);
      }
      index_.push_back(takes_all ? nullptr : index_of(rows_.back(), tensor.shape[mode]));
    }
  }

  // As BackendConfig::held.
  const std::vector<std::shared_ptr<const RowIndex>>& index() const { return index_; }
  const std::vector<std::uint64_t>& rows(std::size_t mode) const { return rows_[mode]; }
  // The held rows of a mode's matrix.
  std::vector<double> part(std::size_t mode, std::span<const double> whole) const {
    const std::size_t columns = whole.size() / shape_[mode];
    std::vector<double> held;
    for (const std::uint64_t row : rows_[mode]) {
      const auto numbers = whole.subspan(row * columns, columns);
      held.insert(held.end(), numbers.begin(), numbers.end());
    }
    return held;
  }
  std::vector<std::vector<double>> parts(std::span<const std::vector<double>> matrices) const {
    std::vector<std::vector<double>> held;
    for (std::size_t mode = 0; mode < matrices.size(); ++mode) held.push_back(part(mode, matrices[mode]));
    return held;
  }
  ExpectedRows part(std::size_t mode, const ExpectedRows& whole) const {
    return {part(mode, whole.rows), part(mode, whole.sizes)};
  }

 private:
  std::vector<std::uint64_t> shape_;
  std::vector<std::shared_ptr<const RowIndex>> index_;
  std::vector<std::vector<std::uint64_t>> rows_;
};

// All modes, one, and all but one.
inline std::vector<ModeSet> held_modes(std::size_t order) {
  const ModeSet all = all_modes(static_cast<int>(order));
  return {all, mode_bit(0), all & ~mode_bit(1)};
}

}  // namespace blco::testing
