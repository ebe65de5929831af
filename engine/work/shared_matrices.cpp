#include "engine/work/shared_matrices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "blco/error.hpp"
#include "engine/work/rows/row_blocks.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

// A mode's matrix, or the unfolding.
class OrderedMatrix final : public TallMatrix {
 public:
  OrderedMatrix(WorkerGroup& workers, const MatrixOrder& order) : workers_(&workers), order_(order) {}

  std::vector<double> peaks() const override { return take(MatrixStep::peaks); }
  std::vector<double> triangle() const override { return take(MatrixStep::triangle); }
  void solve(std::span<const double> triangle) override { take(MatrixStep::solve, triangle); }
  void divide_columns(std::span<const double> divisors) override { take(MatrixStep::divide_columns, divisors); }
  void draw_column(int column) override {
    order_.first = static_cast<std::uint64_t>(column);
    take(MatrixStep::draw_column);
  }

 private:
  std::vector<double> take(MatrixStep step, std::span<const double> given = {}) const {
    MatrixOrder order = order_;
    order.step = step;
    return workers_->take(order, given);
  }

  WorkerGroup* workers_;
  MatrixOrder order_;
};

std::vector<double> as_numbers(const std::vector<std::uint64_t>& columns) { return {columns.begin(), columns.end()}; }

}  // namespace

void SharedMatrices::load(std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
  const std::uint64_t columns = sizes_.columns[mode];
  const std::span<const std::uint32_t> places = rows_->stored_rows(static_cast<int>(mode));
  MatrixOrder order = order_of(MatrixStep::load, mode);
  for_each_row_block(rows.size() / columns, columns, [&](std::uint64_t first, std::size_t count) {
    const std::span<const double> block = rows.subspan(static_cast<std::size_t>(first * columns), count);
    order.first = first_row + first;
    order.count = count / columns;
    if (places.empty()) {
      workers_->take(order, block);
      return true;
    }
    const auto listed = places.subspan(static_cast<std::size_t>(order.first), static_cast<std::size_t>(order.count));
    std::vector<double> given(listed.begin(), listed.end());
    given.insert(given.end(), block.begin(), block.end());
    order.listed = order.count;
    workers_->take(order, given);
    return true;
  });
}

void SharedMatrices::store(std::size_t mode, std::uint64_t first_row, std::span<double> rows) {
  store(mode, /*of_unfolding=*/false, first_row, rows);
}

void SharedMatrices::store(std::size_t mode, bool of_unfolding, std::uint64_t first_row, std::span<double> rows) {
  const std::uint64_t columns = of_unfolding ? unfolding_ : sizes_.columns[mode];
  const std::span<const std::uint32_t> places = rows_->stored_rows(static_cast<int>(mode));
  MatrixOrder order = order_of(MatrixStep::store, mode);
  order.of_unfolding = of_unfolding;
  for_each_row_block(rows.size() / columns, columns, [&](std::uint64_t first, std::size_t count) {
    const std::span<double> block = rows.subspan(static_cast<std::size_t>(first * columns), count);
    order.first = first_row + first;
    order.count = count / columns;
    if (places.empty()) {
      std::ranges::copy(rows_of(order, {}, block.size()), block.begin());
      return true;
    }
    const auto listed = places.subspan(static_cast<std::size_t>(order.first), static_cast<std::size_t>(order.count));
    std::vector<std::size_t> rising(listed.size());
    std::iota(rising.begin(), rising.end(), std::size_t{0});
    std::ranges::sort(rising, {}, [&](std::size_t i) { return listed[i]; });
    std::vector<double> given;
    for (const std::size_t i : rising) given.push_back(listed[i]);
    order.listed = order.count;
    const std::vector<double> found = rows_of(order, given, block.size());
    for (std::size_t i = 0; i < rising.size(); ++i) {
      std::copy_n(&found[i * columns], columns, &block[rising[i] * columns]);
    }
    return true;
  });
}

std::vector<double> SharedMatrices::rows_of(const MatrixOrder& order, std::span<const double> listed,
                                            std::size_t numbers) {
  std::vector<double> rows = workers_->take(order, listed);
  if (rows.size() != numbers)
    throw Error(ErrorKind::io, "workers have sent " + std::to_string(rows.size()) + " numbers of rows in place of " +
                                   std::to_string(numbers));
  return rows;
}

std::vector<double> SharedMatrices::whole(std::size_t mode, bool of_unfolding) {
  const std::uint64_t columns = of_unfolding ? unfolding_ : sizes_.columns[mode];
  std::vector<double> rows(static_cast<std::size_t>(shape_[mode] * columns));
  store(mode, of_unfolding, 0, rows);
  return rows;
}

void SharedMatrices::load_factor(std::size_t mode, const std::vector<std::uint64_t>& columns) {
  workers_->take(order_of(MatrixStep::load_factor, mode), as_numbers(columns));
}

void SharedMatrices::read_output(std::size_t mode, std::uint64_t first, const std::vector<std::uint64_t>& columns) {
  MatrixOrder order = order_of(MatrixStep::read_output, mode);
  order.first = first;
  workers_->take(order, as_numbers(columns));
}

bool SharedMatrices::has_finite_unfolding(std::size_t mode) {
  MatrixOrder order = order_of(MatrixStep::peaks, mode);
  order.of_unfolding = true;
  return std::ranges::all_of(workers_->take(order), [](double peak) { return std::isfinite(peak); });
}

void SharedMatrices::add_products(std::size_t mode, std::span<const double> numbers) {
  workers_->take(order_of(MatrixStep::add_products, mode), numbers);
}

void SharedMatrices::orthonormalise(std::size_t mode) {
  OrderedMatrix matrix(*workers_, order_of({}, mode));
  orthonormalise_columns(matrix);
}

// An unfolding with fewer rows than columns is no larger than a triangle.
void SharedMatrices::set_leading_left_vectors(std::size_t mode, Executor& executor, const StopPoll& stop) {
  const auto count = static_cast<int>(sizes_.columns[mode]);
  if (shape_[mode] < unfolding_) {
    return load(mode, 0, leading_left_vectors(unfolding(mode), static_cast<int>(unfolding_), count, executor, stop));
  }
  MatrixOrder order = order_of(MatrixStep::triangle, mode);
  order.of_unfolding = true;
  const std::vector<double> triangle = workers_->take(order);
  workers_->take(order_of(MatrixStep::multiply, mode), maker_of_left_vectors(triangle, count));
  OrderedMatrix matrix(*workers_, order_of({}, mode));
  settle_left_vectors(matrix);
}

}  // namespace blco
