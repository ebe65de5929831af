#include "kernels/csf/natural_sort.hpp"

#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

namespace blco {
namespace {

constexpr int digit_bits = 11;
constexpr std::size_t digit_values = std::size_t{1} << digit_bits;

std::uint32_t digit_of(std::uint32_t coordinate, int shift) {
  return coordinate >> shift & static_cast<std::uint32_t>(digit_values - 1);
}

// Sorts by one digit of one mode, by counting. Each part of `from` has its own counts, so equal digits keep their
// order.
void scatter(std::span<const std::uint32_t> coordinates, int shift, std::span<const std::uint32_t> from,
             std::span<std::uint32_t> to, Executor& executor) {
  const auto parts = static_cast<std::size_t>(executor.width());
  std::vector<std::vector<std::uint32_t>> places(parts, std::vector<std::uint32_t>(digit_values));
  const auto part_of = [&](std::size_t part) {
    const std::size_t begin = from.size() * part / parts;
    return from.subspan(begin, from.size() * (part + 1) / parts - begin);
  };
  executor.run(parts, [&](std::size_t part) {
    for (const std::uint32_t nonzero : part_of(part)) ++places[part][digit_of(coordinates[nonzero], shift)];
  });
  std::uint32_t place = 0;
  for (std::size_t digit = 0; digit < digit_values; ++digit) {
    for (std::vector<std::uint32_t>& of_part : places) place += std::exchange(of_part[digit], place);
  }
  executor.run(parts, [&](std::size_t part) {
    std::vector<std::uint32_t>& next = places[part];
    for (const std::uint32_t nonzero : part_of(part)) to[next[digit_of(coordinates[nonzero], shift)]++] = nonzero;
  });
}

}  // namespace

std::vector<std::uint32_t> sorted_by(const CoordinateLists& tensor, std::span<const int> modes, Executor& executor) {
  std::vector<std::uint32_t> order(tensor.nnz());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::vector<std::uint32_t> next(order.size());
  for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
    const auto n = static_cast<std::size_t>(*mode);
    const auto bits = static_cast<int>(std::bit_width(tensor.shape[n] - 1));
    for (int shift = 0; shift < bits; shift += digit_bits) {
      scatter(tensor.coordinates[n], shift, order, next, executor);
      order.swap(next);
    }
  }
  return order;
}

}  // namespace blco
