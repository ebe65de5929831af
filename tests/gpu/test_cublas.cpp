// The calls of cuBLAS that blco makes, against the plain loops that stand in for them in the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cuda/cublas.hpp"
#include "tests/simt/device_array.hpp"
#include "tests/simt/plain_blas.hpp"

namespace blco::testing {
namespace {

using cuda::CublasCalls;

constexpr double one = 1;
constexpr double zero = 0;
constexpr double cublas_tolerance = 1e-12;
constexpr std::size_t workspace_bytes = 1 << 20;

std::vector<double> random_numbers(std::size_t count) {
  std::mt19937_64 random(count);
  std::uniform_real_distribution<double> numbers(-1, 1);
  std::vector<double> made(count);
  std::ranges::generate(made, [&] { return numbers(random); });
  return made;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double size) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], cublas_tolerance * size) << i;
}

// Ranks, and rows of a slab.
class CublasTest : public ::testing::TestWithParam<std::pair<int, int>> {
 protected:
  static std::size_t numbers(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }

  const int rank_ = GetParam().first;
  const int rows_ = GetParam().second;
  std::vector<double> slab_ = random_numbers(numbers(rows_, rank_));
  std::vector<double> matrix_ = random_numbers(numbers(rank_, rank_));
  DeviceArray<std::byte> workspace_{workspace_bytes};
  cuda::Stream stream_;
  cuda::Cublas cublas_{stream_.get(), workspace_.data(), workspace_bytes};
};

TEST_P(CublasTest, AddsGramMatricesOfParts) {
  constexpr int parts = 5;
  const int rows = rows_ / parts;
  const long long stride = static_cast<long long>(rows) * rank_;
  const long long square = static_cast<long long>(rank_) * rank_;
  std::vector<double> expected = random_numbers(parts * matrix_.size());
  const DeviceArray<double> slab(slab_, stream_);
  const DeviceArray<double> grams(expected, stream_);

  cublas_.run("cublasDgemmStridedBatched", &CublasCalls::gemm_strided_batched, CUBLAS_OP_N, CUBLAS_OP_T, rank_, rank_,
              rows, &one, slab.data(), rank_, stride, slab.data(), rank_, stride, &one, grams.data(), rank_, square,
              parts);

  simt::plain_gemm(CUBLAS_OP_N, CUBLAS_OP_T, rank_, rank_, rows, 1, slab_.data(), rank_, stride, slab_.data(), rank_,
                   stride, 1, expected.data(), rank_, square, parts);
  expect_near(grams.download(stream_), expected, rows);
}

TEST_P(CublasTest, MultipliesRowsByAMatrix) {
  std::vector<double> expected(slab_.size());
  const DeviceArray<double> slab(slab_, stream_);
  const DeviceArray<double> matrix(matrix_, stream_);
  const DeviceArray<double> made(slab_.size());

  cublas_.run("cublasDgemmStridedBatched", &CublasCalls::gemm_strided_batched, CUBLAS_OP_N, CUBLAS_OP_N, rank_, rows_,
              rank_, &one, matrix.data(), rank_, 0LL, slab.data(), rank_, 0LL, &zero, made.data(), rank_, 0LL, 1);

  simt::plain_gemm(CUBLAS_OP_N, CUBLAS_OP_N, rank_, rows_, rank_, 1, matrix_.data(), rank_, 0, slab_.data(), rank_, 0,
                   0, expected.data(), rank_, 0, 1);
  expect_near(made.download(stream_), expected, rank_);
}

TEST_P(CublasTest, AddsTheLowerTriangleOfAGramMatrix) {
  std::vector<double> expected = matrix_;
  const DeviceArray<double> slab(slab_, stream_);
  const DeviceArray<double> gram(matrix_, stream_);

  cublas_.run("cublasDsyrk", &CublasCalls::syrk, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, rank_, rows_, &one, slab.data(),
              rank_, &one, gram.data(), rank_);

  simt::plain_syrk(rank_, rows_, 1, slab_.data(), rank_, 1, expected.data(), rank_);
  expect_near(gram.download(stream_), expected, rows_);
}

TEST_P(CublasTest, SolvesByALowerTriangle) {
  for (double& number : matrix_) number /= rank_;
  for (std::size_t j = 0; j < matrix_.size(); j += static_cast<std::size_t>(rank_) + 1) matrix_[j] += 2;
  const DeviceArray<double> matrix(matrix_, stream_);
  for (const cublasOperation_t operation : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    std::vector<double> expected = slab_;
    const DeviceArray<double> made(slab_, stream_);

    cublas_.run("cublasDtrsm", &CublasCalls::trsm, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, operation,
                CUBLAS_DIAG_NON_UNIT, rank_, rows_, &one, matrix.data(), rank_, made.data(), rank_);

    simt::plain_trsm(operation, rank_, rows_, 1, matrix_.data(), rank_, expected.data(), rank_);
    expect_near(made.download(stream_), expected, 1);
  }
}

TEST_P(CublasTest, LeavesAnInnerProductOnTheDevice) {
  const DeviceArray<double> slab(slab_, stream_);
  const DeviceArray<double> result(1);
  const int count = static_cast<int>(slab_.size());

  cublas_.run("cublasSetPointerMode", &CublasCalls::set_pointer_mode, CUBLAS_POINTER_MODE_DEVICE);
  cublas_.run("cublasDdot", &CublasCalls::dot, count, slab.data(), 1, slab.data(), 1, result.data());

  expect_near(result.download(stream_), {simt::plain_dot(count, slab_.data(), slab_.data())}, count);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CublasTest,
                         ::testing::Values(std::pair(1, 100'000), std::pair(7, 333), std::pair(16, 4096),
                                           std::pair(32, 65'536), std::pair(100, 2000), std::pair(300, 257)));

}  // namespace
}  // namespace blco::testing
