// Numbers as coordinates: intervals of them, their edges and their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blco/labels.hpp"

namespace blco {

// Bin i has the numbers from edge i on, and below edge i + 1; the last bin has its upper edge too. Edges are finite and
// ascend; only the last two may be equal: a bin of one number. No edges, no bins.
class NumberBins {
 public:
  NumberBins() = default;

  // Of `count` bins of equal width from `lower` to `upper`: edge i is lower + (upper - lower) * i / count. Fewer where
  // edges would be equal. Requires: finite numbers, lower <= upper, count >= 1.
  static NumberBins of_equal_width(double lower, double upper, std::uint64_t count);

  // Of at most `count` bins whose numbers of rows are as near to each other as they can be without splitting equal
  // numbers: between bins k and k + 1, the rows before the edge are those nearest to k / count of all, the fewer of
  // two. Edges are numbers of the data. `numbers` ascend strictly; rows[i] > 0 rows have numbers[i]. Requires: not
  // empty; fewer than 2^47 rows, and count <= 2^16.
  static NumberBins of_quantiles(std::span<const double> numbers, std::span<const std::uint64_t> rows,
                                 std::uint64_t count);

  // The bins whose labels these are, exactly and in order; nothing where there are none such.
  static std::optional<NumberBins> of_labels(const Labels& labels, std::uint64_t count);

  std::uint64_t size() const { return edges_.empty() ? 0 : edges_.size() - 1; }
  double lower() const { return edges_.front(); }
  double upper() const { return edges_.back(); }

  // Requires: lower() <= number <= upper().
  std::uint64_t bin_of(double number) const;

  // The bin that has this label; nothing if none has.
  std::optional<std::uint64_t> bin_with_label(std::string_view label) const;

  // "[0, 2.5)", and of the last bin "[7.5, 10]". Numbers in the fewest digits that give them back.
  std::string label(std::uint64_t bin) const;

 private:
  explicit NumberBins(std::vector<double> edges) : edges_(std::move(edges)) {}

  std::vector<double> edges_;
};

// In the fewest digits that give the number back.
std::string shortest_number(double number);

}  // namespace blco
