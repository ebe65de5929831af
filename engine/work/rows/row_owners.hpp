// Who owns which rows of the factors: a range of each mode per worker. The owner alone updates a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/work/rows/chunk_share.hpp"
#include "engine/work/rows/touched_rows.hpp"

namespace blco {

class RowOwners {
 public:
  // `first_rows`: of each mode the first row of each worker, and at last the mode's length; of one mode after another.
  RowOwners(std::size_t workers, std::vector<std::uint64_t> first_rows)
      : workers_(workers), first_rows_(std::move(first_rows)) {}
  // Ranges of whole units (TouchedRows), in which workers have about as many rows to send and receive as their shares
  // say. `touches`: of each unit of each mode, how often workers touch its rows.
  static RowOwners by_touches(const std::vector<std::uint64_t>& shape, const Peers& peers,
                              std::span<const double> touches);

  std::size_t workers() const { return workers_; }
  IndexRange rows(std::size_t mode, std::size_t worker) const {
    const std::size_t at = mode * (workers_ + 1) + worker;
    return {first_rows_[at], first_rows_[at + 1]};
  }
  // Of a row.
  std::size_t owner_of(std::size_t mode, std::uint64_t row) const {
    const auto first = first_rows_.begin() + static_cast<std::ptrdiff_t>(mode * (workers_ + 1));
    const auto last = first + static_cast<std::ptrdiff_t>(workers_);
    return static_cast<std::size_t>(std::upper_bound(first, last, row) - first) - 1;
  }
  // Of all modes.
  std::vector<IndexRange> rows_of(std::size_t worker) const;
  std::span<const std::uint64_t> first_rows() const { return first_rows_; }

 private:
  std::size_t workers_;
  std::vector<std::uint64_t> first_rows_;
};

}  // namespace blco
