// A stable sort by one digit, on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {

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

}  // namespace blco
