// The baseline against a loop over coordinates: a yardstick has to compute the same thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "blco/error.hpp"
#include "kernels/rivals/alto_baseline.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

std::vector<double> run_baseline(const CooTensor& tensor, const std::vector<std::vector<double>>& factors, int rank,
                                 int mode) {
  const TensorLayout layout(tensor.shape);
  ThreadExecutor executor(2);
  const auto baseline = make_alto_baseline(layout, rank, tensor.nnz(), executor);
  for (std::uint64_t i = 0; i < tensor.nnz(); ++i) {
    const std::span<const std::uint64_t> coordinates(tensor.coordinates);
    const LineIndex line = layout.linearize(coordinates.subspan(i * tensor.order(), tensor.order()));
    baseline->add({&line, 1}, {&tensor.values[i], 1});
  }
  for (std::size_t n = 0; n < factors.size(); ++n) {
    std::ranges::copy(factors[n], baseline->factor(static_cast<int>(n)).begin());
  }
  baseline->run(mode);
  baseline->run(mode);  // starts from zero again
  std::vector<double> rows;
  for (std::uint64_t row = 0; row < tensor.shape[static_cast<std::size_t>(mode)]; ++row) {
    rows.insert(rows.end(), baseline->output_row(row).begin(), baseline->output_row(row).end());
  }
  return rows;
}

TEST(AltoBaseline, ComputesMttkrp) {
  const std::vector<std::vector<std::uint64_t>> shapes{
      {40, 31, 57}, {12, 30, 5, 60}, {9, 8, 7, 6, 5}, {8192, 8000, 5000, 8191, 4097}};
  for (const auto& shape : shapes) {
    const TensorLayout layout(shape);
    if (!has_alto_baseline(layout, 16)) GTEST_SKIP() << "this CPU has no fast pext";
    const auto tensor = random_tensor({.shape = shape, .nnz = 1500, .seed = 3});
    for (const int rank : {16, 32, 64}) {
      const auto factors = random_factors(shape, rank, 5);
      for (int mode = 0; mode < layout.order(); ++mode) {
        const auto expected = coordinate_mttkrp(tensor, factors, rank, static_cast<std::size_t>(mode));
        EXPECT_THAT(run_baseline(tensor, factors, rank, mode), RowsNear(expected, 1e-12)) << rank << ", mode " << mode;
      }
    }
  }
}

TEST(AltoBaseline, IsRefusedWhereItWasNotCompiled) {
  SerialExecutor executor;
  const TensorLayout matrix(std::vector<std::uint64_t>{4, 5});
  const TensorLayout cube(std::vector<std::uint64_t>{4, 5, 6});

  EXPECT_THROW(make_alto_baseline(matrix, 16, 1, executor), Error);
  EXPECT_THROW(make_alto_baseline(cube, 17, 1, executor), Error);
}

}  // namespace
}  // namespace blco::testing
