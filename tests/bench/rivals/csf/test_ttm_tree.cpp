// TTM on CSF trees: outputs against a loop over coordinates, work against figures of the thesis.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/bench/rivals/csf/ttm_tree.hpp"
#include "tests/bench/rivals/natural_cases.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

// By cell of the other modes, which come in lexicographic order.
std::map<std::vector<std::uint64_t>, std::vector<double>> product_of(const CooTensor& tensor, std::size_t mode,
                                                                     const std::vector<double>& matrix,
                                                                     std::size_t columns) {
  std::map<std::vector<std::uint64_t>, std::vector<double>> fibers;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < tensor.order(); ++n) {
      if (n != mode) cell.push_back(tensor.coordinate(i, n));
    }
    std::vector<double>& row = fibers[cell];
    row.resize(columns);
    for (std::size_t r = 0; r < columns; ++r) {
      row[r] += tensor.values[i] * matrix[tensor.coordinate(i, mode) * columns + r];
    }
  }
  return fibers;
}

TEST(TtmTree, GivesBothWaysTheProductOfALoop) {
  const std::vector<std::vector<std::uint64_t>> shapes{{40, 30}, {30, 1, 50}, {200, 9, 17, 5}, {4, 5, 3, 2, 6}};
  for (const std::vector<std::uint64_t>& shape : shapes) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 1500, .seed = 6, .skew = 2}));
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      for (const int threads : {1, 3}) {
        ThreadExecutor executor(threads);
        const TtmTree tree(tensor.view(), static_cast<int>(mode), executor);
        for (const std::size_t columns : {1, 3, 16}) {
          std::vector<double> matrix(shape[mode] * columns);
          for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = std::sin(static_cast<double>(i) + 1);
          const auto expected = product_of(tensor.coo, mode, matrix, columns);
          ASSERT_EQ(tree.fibers(), expected.size());
          for (const TtmThread thread : {TtmThread::element, TtmThread::fiber}) {
            std::vector<double> rows(expected.size() * columns, 1e300);

            tree.multiply(thread, matrix, columns, rows);

            std::size_t at = 0;
            for (const auto& [cell, row] : expected) {
              for (const double number : row) EXPECT_NEAR(rows[at++], number, 1e-12);
            }
          }
        }
      }
    }
  }
}

TEST(TtmTree, StoresItsNodesAndPointers) {
  // Figure 4 of the BLCO paper in modes 2, 0, 1: 4 slices, 11 fibers, 12 nonzeros.
  ThreadExecutor executor(1);
  const NaturalTensor tensor = tensor_of_figure_4();

  const TtmTree of_first(tensor.view(), 0, executor);
  const TtmTree of_last(tensor.view(), 2, executor);

  EXPECT_EQ(of_last.fibers(), 8U);
  EXPECT_EQ(of_last.index_bytes(), 4U * 36);
  EXPECT_EQ(of_first.nnz(), 12U);
}

// Borralho's thesis, with numbers of 4 bytes: n / (6 (n + 1)) flops a byte for n nonzeros a fiber.
TEST(TtmWork, HasTheIntensitiesOfTheThesis) {
  const auto intensity = [](TtmThread thread, std::uint64_t fibers, std::uint64_t nnz, std::size_t columns) {
    const RivalWork work = ttm_work(thread, fibers, nnz, columns, 4);
    return work.flops / work.bytes;
  };

  EXPECT_NEAR(intensity(TtmThread::element, 1, 228, 16), 0.166, 5e-4);
  EXPECT_NEAR(intensity(TtmThread::element, 337365, 76879419, 32), 0.166, 5e-4);    // nell-2
  EXPECT_NEAR(intensity(TtmThread::element, 26021945, 26021945, 16), 0.083, 5e-4);  // vast-3D: one a fiber
  // A thread per fiber: n / (n + 1) C / (2 (C + 2)) for C columns.
  EXPECT_NEAR(intensity(TtmThread::fiber, 1, 228, 16), 0.5 * 228 / 229 * 16 / 18, 1e-12);
  EXPECT_NEAR(intensity(TtmThread::fiber, 7, 7, 32), 0.25 * 32 / 34, 1e-12);
}

}  // namespace
}  // namespace blco::testing
