// A sparse tensor as lists of coordinates, and its nonzeros sorted by them, the modes in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {

// M nonzeros in any order. Not owned.
struct CoordinateLists {
  std::vector<std::uint64_t> shape;
  std::vector<std::span<const std::uint32_t>> coordinates;  // per mode M numbers from 0
  std::span<const double> values;                           // M; trees are built without them

  int order() const { return static_cast<int>(shape.size()); }
  std::uint64_t nnz() const { return coordinates.empty() ? 0 : coordinates[0].size(); }
};

inline constexpr int scatter_bits = 11;
inline constexpr std::size_t scatter_digits = std::size_t{1} << scatter_bits;

// One step of a radix sort: moves the entries of `from` to `to` in ascending order of digit(entry), which is below
// scatter_digits; equal ones keep their order, since each thread's part has its own counts. Fewer than 2^32 entries.
template <class Entry, class Digit>
void counting_scatter(std::span<const Entry> from, std::span<Entry> to, const Digit& digit, Executor& executor) {
  const auto parts = static_cast<std::size_t>(executor.width());
  std::vector<std::vector<std::uint32_t>> places(parts, std::vector<std::uint32_t>(scatter_digits));
  run_parts(executor, parts, from.size(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint32_t>& counts = places[part];
    for (std::uint64_t i = begin; i < end; ++i) ++counts[digit(from[i])];
  });
  std::uint32_t place = 0;
  for (std::size_t d = 0; d < scatter_digits; ++d) {
    for (std::vector<std::uint32_t>& of_part : places) place += std::exchange(of_part[d], place);
  }
  run_parts(executor, parts, from.size(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint32_t>& next = places[part];
    for (std::uint64_t i = begin; i < end; ++i) to[next[digit(from[i])]++] = from[i];
  });
}

// The nonzeros' numbers in lexicographic order of their coordinates in `modes`, first mode first; equal ones keep their
// order. A radix sort on the executor's threads, of as many digits as the lengths of the modes need. Modes that are not
// listed do not count. Takes 4 bytes per nonzero beside the result. Requires fewer than 2^32 nonzeros.
std::vector<std::uint32_t> sorted_by(const CoordinateLists& tensor, std::span<const int> modes, Executor& executor);

}  // namespace blco
