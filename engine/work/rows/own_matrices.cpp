#include "engine/work/rows/own_matrices.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/work/rows/row_blocks.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {

std::optional<Combining> combining_of(MatrixStep step) {
  switch (step) {
    case MatrixStep::store:
      return Combining::joined;
    case MatrixStep::peaks:
      return Combining::largest;
    case MatrixStep::triangle:
      return Combining::triangles;
    case MatrixStep::project:
    case MatrixStep::project_output:
      return Combining::sums;
    default:
      return std::nullopt;
  }
}

OwnMatrices::OwnMatrices(std::vector<PlacedRows> rows, const MatrixSizes& sizes, Executor& executor, StopPoll stop,
                         const MemorySource& memory)
    : rows_(std::move(rows)), sizes_(sizes), executor_(executor), stop_(std::move(stop)) {
  std::uint64_t of_unfolding = 0;
  std::uint64_t of_block = 0;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const std::uint64_t numbers = rows_of(n) * sizes_.columns[n];
    matrices_.emplace_back(numbers, memory);
    if (sizes_.undoes) before_.emplace_back(numbers, memory);
    of_unfolding = std::max(of_unfolding, rows_of(n) * sizes_.unfolding[n]);
    for (const std::uint64_t width : {sizes_.of_factor(n), sizes_.of_output(n)}) {
      of_block = std::max(of_block, std::min(rows_of(n), rows_of_block(width)) * width);
    }
  }
  unfolding_ = AlignedBuffer<double>(of_unfolding, memory);
  block_ = AlignedBuffer<double>(of_block, memory);
}

// A triangle has as many rows as columns, however few rows are here; rank 0 has all rows of unfoldings with more
// columns than rows. An order or an answer is there up to four times, as given, on its way, and joined with others.
std::uint64_t OwnMatrices::bytes(const std::vector<std::uint64_t>& rows, const std::vector<std::uint64_t>& shape,
                                 const MatrixSizes& sizes) {
  std::vector<PlacedRows> of_modes;
  std::uint64_t scratch = 0;
  std::uint64_t block = 0;
  std::uint64_t product = 0;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    of_modes.push_back({.places = {0, rows[n]}});
    const std::uint64_t columns = sizes.columns[n];
    const std::uint64_t unfolding = sizes.unfolding[n];
    const std::uint64_t side = std::max(columns, unfolding > shape[n] ? 0 : unfolding);
    const bool is_joined = rows[n] < shape[n];
    scratch = std::max(scratch, tall_scratch_bytes(std::max(rows[n], side), side) +
                                    (is_joined ? 5 * side * side * sizeof(double) : 0));
    if (is_joined) product = std::max(product, columns * std::max(unfolding, sizes.slab));
    for (const std::uint64_t width : {columns, sizes.slab, unfolding > shape[n] ? unfolding : 0}) {
      if (width > 0) block = std::max(block, std::min(shape[n], rows_of_block(width)) * width);
    }
  }
  SerialExecutor none;
  return scratch + (4 * block + 3 * product) * sizeof(double) +
         bytes_of<OwnMatrices>(std::move(of_modes), sizes, none, StopPoll());
}

std::vector<double> OwnMatrices::take(const MatrixOrder& order, std::span<const double> given, Factors& factors) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = order.of_unfolding ? order.columns : sizes_.columns[mode];
  TallRows tall(order.of_unfolding ? unfolding(order) : matrix(mode), static_cast<int>(columns), executor_, stop_,
                rows_[mode].first);
  switch (order.step) {
    case MatrixStep::keep:
      for (std::size_t n = 0; n < matrices_.size(); ++n) std::ranges::copy(matrix(n), before_[n].data());
      break;
    case MatrixStep::undo:
      std::swap(matrices_, before_);
      break;
    case MatrixStep::finish:
      before_.clear();
      unfolding_ = {};
      break;
    case MatrixStep::load:
      load(order, given);
      break;
    case MatrixStep::store:
      return store(order, given);
    case MatrixStep::load_factor:
      load_factor(order, given, factors);
      break;
    case MatrixStep::read_output:
      read_output(order, given, factors);
      break;
    case MatrixStep::clear:
      std::ranges::fill(matrix(mode), 0.0);
      break;
    case MatrixStep::add_products:
      add_products(order, given, factors);
      break;
    case MatrixStep::project: {
      std::vector<double> product(static_cast<std::size_t>(sizes_.columns[mode] * order.columns));
      add_transposed_product(matrix(mode), columns, unfolding(order), order.columns, product, executor_, stop_);
      return product;
    }
    case MatrixStep::project_output:
      return project_output(order, factors);
    case MatrixStep::multiply:
      TallRows(unfolding(order), static_cast<int>(order.columns), executor_, stop_)
          .multiply(given, static_cast<int>(sizes_.columns[mode]), matrix(mode));
      break;
    case MatrixStep::peaks:
      return tall.peaks();
    case MatrixStep::triangle:
      return tall.triangle();
    case MatrixStep::solve:
      tall.solve(given);
      break;
    case MatrixStep::divide_columns:
      tall.divide_columns(given);
      break;
    case MatrixStep::draw_column:
      tall.draw_column(static_cast<int>(order.first));
      break;
  }
  return {};
}

void OwnMatrices::load(const MatrixOrder& order, std::span<const double> given) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = sizes_.columns[mode];
  const std::span<const double> rows = given.subspan(static_cast<std::size_t>(order.listed));
  for (std::uint64_t i = 0; i < order.count; ++i) {
    const std::uint64_t row = order.listed != 0 ? static_cast<std::uint64_t>(given[i]) : order.first + i;
    if (row - rows_[mode].first >= rows_of(mode)) continue;
    std::ranges::copy(rows.subspan(i * columns, columns), matrix(mode).data() + (row - rows_[mode].first) * columns);
  }
}

std::vector<double> OwnMatrices::store(const MatrixOrder& order, std::span<const double> listed) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = order.of_unfolding ? order.columns : sizes_.columns[mode];
  const std::span<const double> from = order.of_unfolding ? unfolding(order) : matrix(mode);
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(std::min(order.count, rows_of(mode)) * columns));
  for (std::uint64_t i = 0; i < order.count; ++i) {
    const std::uint64_t row = listed.empty() ? order.first + i : static_cast<std::uint64_t>(listed[i]);
    if (row - rows_[mode].first >= rows_of(mode)) continue;
    const auto numbers_of_row = from.subspan((row - rows_[mode].first) * columns, columns);
    numbers.insert(numbers.end(), numbers_of_row.begin(), numbers_of_row.end());
  }
  return numbers;
}

void OwnMatrices::load_factor(const MatrixOrder& order, std::span<const double> chosen, Factors& factors) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = sizes_.columns[mode];
  const std::uint64_t width = sizes_.of_factor(mode);
  const std::vector<std::size_t> places(chosen.begin(), chosen.end());
  for_each_block(mode, width, [&](std::uint64_t first, std::span<double> block) {
    const double* from = matrix(mode).data() + first * columns;
    for (std::size_t start = 0; start < block.size(); start += width, from += columns) {
      double* const to = block.data() + start;
      for (std::size_t c = 0; c < places.size(); ++c) to[c] = from[places[c]];
      std::fill(to + places.size(), to + width, 0.0);
    }
    factors.load_factor(order.mode, rows_[mode].places.begin + first, block);
  });
}

template <class Visit>
void OwnMatrices::for_each_block(std::size_t mode, std::uint64_t width, const Visit& visit) {
  const std::uint64_t step = rows_of_block(width);
  for (std::uint64_t first = 0; first < rows_of(mode); first += step) {
    give_up_if(stop_);
    visit(first, block_.span().first(static_cast<std::size_t>(std::min(step, rows_of(mode) - first) * width)));
  }
}

template <class Visit>
void OwnMatrices::for_each_block_of_output(int mode, Factors& factors, const Visit& visit) {
  const auto n = static_cast<std::size_t>(mode);
  for_each_block(n, sizes_.of_output(n), [&](std::uint64_t first, std::span<double> block) {
    factors.read_output(mode, rows_[n].places.begin + first, block);
    visit(first, std::span<const double>(block));
  });
}

void OwnMatrices::read_output(const MatrixOrder& order, std::span<const double> chosen, Factors& factors) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = order.columns;
  const std::uint64_t width = sizes_.of_output(mode);
  const std::vector<std::size_t> places(chosen.begin(), chosen.end());
  for_each_block_of_output(order.mode, factors, [&](std::uint64_t row, std::span<const double> block) {
    double* to = unfolding(order).data() + row * columns + order.first;
    for (std::size_t start = 0; start < block.size(); start += width, to += columns) {
      for (std::size_t c = 0; c < places.size(); ++c) to[c] = block[start + places[c]];
    }
  });
}

void OwnMatrices::add_products(const MatrixOrder& order, std::span<const double> given, Factors& factors) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = sizes_.columns[mode];
  const std::uint64_t width = sizes_.of_output(mode);
  const std::uint64_t used = given.size() / columns;
  for_each_block_of_output(order.mode, factors, [&](std::uint64_t first, std::span<const double> block) {
    run_shares(executor_, block.size() / width, [&](std::uint64_t row, std::uint64_t end) {
      for (; row < end; ++row) {
        double* const sums = matrix(mode).data() + (first + row) * columns;
        for (std::uint64_t c = 0; c < used; ++c) {
          const double y = block[row * width + c];
          for (std::uint64_t r = 0; r < columns; ++r) sums[r] += y * given[c * columns + r];
        }
      }
    });
  });
}

std::vector<double> OwnMatrices::project_output(const MatrixOrder& order, Factors& factors) {
  const auto mode = static_cast<std::size_t>(order.mode);
  const std::uint64_t columns = sizes_.columns[mode];
  const std::uint64_t width = sizes_.of_output(mode);
  std::vector<double> product(static_cast<std::size_t>(columns * width));
  for_each_block_of_output(order.mode, factors, [&](std::uint64_t first, std::span<const double> block) {
    add_transposed_product(matrix(mode).subspan(first * columns), columns, block, width, product, executor_, stop_);
  });
  return product;
}

}  // namespace blco
