#include "engine/work/rows/own_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "engine/work/rows/gradient_of_zeros.hpp"
#include "engine/work/rows/row_blocks.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

std::vector<LbfgsNumbers::Range> ranges_of(const std::vector<PlacedRows>& rows, int columns) {
  std::vector<LbfgsNumbers::Range> ranges;
  const auto rank = static_cast<std::uint64_t>(columns);
  for (const PlacedRows& of : rows) ranges.push_back({of.first * rank, of.places.count() * rank});
  return ranges;
}

}  // namespace

std::optional<Combining> combining_of(const NumbersOrder& order) {
  if (order.kind == NumbersKind::sum_columns) return Combining::sums;
  if (order.kind != NumbersKind::step) return std::nullopt;
  switch (order.step.kind) {
    case LbfgsStepKind::raise_to_bounds:
    case LbfgsStepKind::move:
      return std::nullopt;
    case LbfgsStepKind::next_breakpoints:
      return Combining::breakpoints;
    default:
      return Combining::least_and_sums;
  }
}

OwnNumbers::OwnNumbers(std::vector<PlacedRows> rows, int columns, LbfgsVectors vectors, Executor& executor,
                       const MemorySource& memory)
    : rows_(std::move(rows)),
      columns_(columns),
      executor_(executor),
      numbers_(ranges_of(rows_, columns), executor, memory),
      scales_(vectors == LbfgsVectors::scaled ? numbers_.size() : 0, memory),
      block_(std::min(numbers_.size(), numbers_of_block(columns)), memory) {}

std::uint64_t OwnNumbers::bytes(const std::vector<std::uint64_t>& rows, int columns, LbfgsVectors vectors) {
  std::vector<PlacedRows> of_modes;
  for (const std::uint64_t count : rows) of_modes.push_back({.places = {0, count}});
  SerialExecutor none;
  return bytes_of<OwnNumbers>(std::move(of_modes), columns, vectors, none);
}

template <class Visit>
void OwnNumbers::for_each_mode(ModeSet modes, const Visit& visit) const {
  std::size_t first = 0;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const auto count = static_cast<std::size_t>(rows_[n].places.count()) * static_cast<std::size_t>(columns_);
    if (count > 0 && has_mode(modes, static_cast<int>(n))) visit(static_cast<int>(n), rows_[n].places, first, count);
    first += count;
  }
}

// to = operation(from, scales), on all threads, where there are scales; the numbers are those from `first` on.
template <class Operation>
void OwnNumbers::combine_with_scales(std::span<const double> from, std::span<double> to, std::size_t first,
                                     const Operation& operation) {
  if (!has_scales_) return;
  const double* const scales = scales_.data() + first;
  run_shares(executor_, from.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) to[i] = operation(from[i], scales[i]);
  });
}

std::vector<double> OwnNumbers::take(const NumbersOrder& order, std::span<const double> given, Factors& factors) {
  const std::span<double> x = numbers_.point(order.places.x);
  const std::span<double> gradient = numbers_.gradient(order.places.gradient);
  const auto for_each = [&](const auto& visit) { for_each_mode(order.modes, visit); };
  switch (order.kind) {
    case NumbersKind::step:
      return numbers_.take(order.step);
    case NumbersKind::bound:
      for_each([&](int, const OwnedRows&, std::size_t first, std::size_t count) { numbers_.bound(first, count); });
      break;
    case NumbersKind::read_factors:
      for_each([&](int mode, const OwnedRows& rows, std::size_t first, std::size_t count) {
        factors.store_factor(mode, rows.begin, x.subspan(first, count));
      });
      break;
    case NumbersKind::sum_columns:
      return sum_columns(x);
    case NumbersKind::scale:
      if (!std::exchange(has_scales_, true)) std::ranges::fill(scales_.span(), 1.0);
      for_each([&](int, const OwnedRows&, std::size_t first, std::size_t count) {
        scale(x.subspan(first, count), first, given);
      });
      break;
    case NumbersKind::divide:
      combine_with_scales(x, x, 0, std::divides());
      break;
    case NumbersKind::write_factors:
      combine_with_scales(x, gradient, 0, std::multiplies());
      for_each([&](int mode, const OwnedRows& rows, std::size_t first, std::size_t count) {
        factors.load_factor(mode, rows.begin, (has_scales_ ? gradient : x).subspan(first, count));
      });
      break;
    case NumbersKind::read_gradient:
      for_each([&](int mode, const OwnedRows& rows, std::size_t first, std::size_t count) {
        const std::span<double> slopes = gradient.subspan(first, count);
        factors.read_output(mode, rows.begin, slopes);
        add_gradient_of_zeros({given, order.is_of_squares}, columns_, factors, mode, rows.begin, block_.span(),
                              executor_, slopes);
        combine_with_scales(slopes, slopes, first, std::multiplies());
      });
      break;
    case NumbersKind::clear_gradient:
      for_each([&](int, const OwnedRows&, std::size_t first, std::size_t count) {
        std::ranges::fill(gradient.subspan(first, count), 0.0);
      });
      break;
  }
  return {};
}

std::vector<double> OwnNumbers::sum_columns(std::span<const double> x) const {
  const auto rank = static_cast<std::size_t>(columns_);
  std::vector<double> sums(rows_.size() * rank);
  for_each_mode(~ModeSet{0}, [&](int mode, const OwnedRows&, std::size_t first, std::size_t count) {
    double* const of_mode = sums.data() + static_cast<std::size_t>(mode) * rank;
    for (std::size_t i = 0; i < count; ++i) of_mode[i % rank] += x[first + i];
  });
  return sums;
}

void OwnNumbers::scale(std::span<const double> x, std::size_t first, std::span<const double> given) {
  const auto rank = static_cast<std::size_t>(columns_);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t r = i % rank;
    const double square = (x[i] + given[r]) / given[rank + r];
    scales_.data()[first + i] = square > 0 && std::isfinite(square) ? std::sqrt(square) : 1.0;
  }
}

}  // namespace blco
