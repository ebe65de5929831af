// Counting, and a counting sort of the counts.
#include "engine/ingest/sort/reordering.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/container/container.hpp"

namespace blco {
namespace {

// Counts from here on are few (of n entries, n / 2^16 indices have one), and sorted by comparison.
constexpr std::uint32_t large_count = std::uint32_t{1} << 16;
// A count that is at its end stays there: so many are equally frequent.
constexpr std::uint32_t max_counted = std::numeric_limits<std::uint32_t>::max();

}  // namespace

bool FinalCoordinates::is_empty() const {
  return std::ranges::all_of(modes_, [](const auto& mode) { return mode.empty(); });
}

std::uint64_t FinalCoordinates::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& mode : modes_) bytes += mode.size() * sizeof(std::uint32_t);
  return bytes;
}

void FinalCoordinates::apply(CoordinateBatch& batch) const {
  const auto order = static_cast<std::size_t>(batch.order);
  const auto replace = [&](auto& coordinates) {
    for (std::size_t n = 0; n < order; ++n) {
      if (!has(n)) continue;
      for (std::size_t at = n; at < coordinates.size(); at += order) coordinates[at] = modes_[n][coordinates[at]];
    }
  };
  replace(batch.narrow);
  replace(batch.wide);
}

void Reordering::Column::extend(std::uint64_t rows) {
  rows_ = std::max(rows_, rows);
  while (pages_.size() * page_rows < rows_) pages_.push_back(std::make_unique<std::uint32_t[]>(page_rows));
}

std::uint64_t Reordering::memory_bytes(std::span<const std::uint64_t> lengths) {
  std::uint64_t pages = 0;
  std::uint64_t longest = 0;
  for (const std::uint64_t length : lengths) {
    pages += (length + Column::page_rows - 1) / Column::page_rows;
    longest = std::max(longest, length);
  }
  // Of a page also its pointer, in a list that doubles. Of the longest mode the order of its indices, and a bit each.
  return pages * (Column::page_rows * sizeof(std::uint32_t) + 32) + longest * sizeof(std::uint32_t) + longest / 8 +
         large_count * sizeof(std::uint64_t);
}

void Reordering::check_lengths(std::span<const std::uint64_t> lengths) {
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    if (lengths[n] <= max_reordered_rows) continue;
    throw Error(ErrorKind::invalid_argument,
                "mode " + std::to_string(n) + " has the length " + std::to_string(lengths[n]) +
                    ", but only modes of at most 2^32 indices can be reordered; use " + option_name("reorder", "none"));
  }
}

void Reordering::count(const CoordinateBatch& batch, Executor& executor) {
  columns_.resize(static_cast<std::size_t>(batch.order));
  executor.run(columns_.size(), [&](std::size_t n) {
    Column& counts = columns_[n];
    counts.extend(batch.upper[n] + 1);
    const auto mode = static_cast<int>(n);
    for (std::size_t i = 0; i < batch.count(); ++i) {
      std::uint32_t& count = counts[batch.coordinate(i, mode)];
      if (count != max_counted) ++count;
    }
  });
}

void Reordering::take_final(const FinalCoordinates& coordinates) {
  for (std::size_t n = 0; n < columns_.size(); ++n) {
    if (!coordinates.has(n)) continue;
    const std::vector<std::uint32_t>& final_ones = coordinates.of(n);
    const Column counts = std::exchange(columns_[n], {});
    for (std::uint64_t row = 0; row < counts.rows(); ++row) {
      const std::uint32_t to = final_ones[static_cast<std::size_t>(row)];
      columns_[n].extend(std::uint64_t{to} + 1);
      std::uint32_t& count = columns_[n][to];
      count += std::min(counts[row], max_counted - count);
    }
  }
}

std::vector<std::uint32_t> Reordering::order_by_count(const Column& counts) {
  // Where the indices of each count go, those of the largest counts first.
  std::vector<std::uint64_t> place(large_count + 1);
  for (std::uint64_t row = 0; row < counts.rows(); ++row) ++place[std::min(counts[row], large_count)];
  const std::uint64_t large = place[large_count];
  std::uint64_t next = 0;
  for (std::size_t count = place.size(); count-- > 0;) next += std::exchange(place[count], next);
  std::vector<std::uint32_t> order(static_cast<std::size_t>(counts.rows()));
  for (std::uint64_t row = 0; row < counts.rows(); ++row) {
    order[place[std::min(counts[row], large_count)]++] = static_cast<std::uint32_t>(row);
  }
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(large),
            [&](std::uint32_t a, std::uint32_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
  return order;
}

void Reordering::finish(std::span<const std::uint64_t> shape) {
  columns_.resize(shape.size());
  for (std::size_t n = 0; n < shape.size(); ++n) {
    columns_[n].extend(shape[n]);
    const std::vector<std::uint32_t> order = order_by_count(columns_[n]);
    for (std::size_t stored = 0; stored < order.size(); ++stored) {
      columns_[n][order[stored]] = static_cast<std::uint32_t>(stored);
    }
  }
}

void Reordering::apply(CoordinateBatch& batch) const {
  const std::size_t order = columns_.size();
  const auto replace = [&](auto& coordinates) {
    for (std::size_t n = 0; n < order; ++n) {
      const Column& numbers = columns_[n];
      for (std::size_t at = n; at < coordinates.size(); at += order) coordinates[at] = numbers[coordinates[at]];
    }
  };
  replace(batch.narrow);
  replace(batch.wide);
}

std::uint64_t Reordering::original(std::size_t mode, std::uint64_t stored) const {
  std::uint64_t row = 0;
  while (columns_[mode][row] != stored) ++row;
  return row;
}

std::vector<std::uint32_t> Reordering::take_originals(std::size_t mode) {
  const Column numbers = std::exchange(columns_[mode], {});
  std::vector<std::uint32_t> originals(static_cast<std::size_t>(numbers.rows()));
  bool same = true;
  for (std::uint64_t row = 0; row < numbers.rows(); ++row) {
    originals[numbers[row]] = static_cast<std::uint32_t>(row);
    same = same && numbers[row] == row;
  }
  if (same) originals = {};
  return originals;
}

}  // namespace blco
