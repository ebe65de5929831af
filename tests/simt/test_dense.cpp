// Row updates, Gram matrices and merges for all types of outputs and factors, against loops in long double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/row_solver.hpp"
#include "tests/simt/dense_update.hpp"
#include "tests/simt/device_array.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

// Of the sum of absolute products.
constexpr double dense_tolerance = 1e-13;
constexpr int ranks[] = {1, 7, 16, 32, 33, 100};
// Fewer rows than a part has, one part, several, and rows that are left over.
constexpr std::uint64_t row_counts[] = {1, 33, 64, 300};
constexpr std::uint64_t usual_slab = cuda::DenseSizes::usual_slab;

std::size_t square_of(int rank) { return static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank); }

template <class Real>
std::vector<Real> random_rows(std::uint64_t rows, int rank, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> numbers(-1, 1);
  std::vector<Real> made(static_cast<std::size_t>(rows) * static_cast<std::size_t>(rank));
  std::ranges::generate(made, [&] { return static_cast<Real>(numbers(random)); });
  return made;
}

// R x R, row-major: B B^T of B with `width` columns, plus `shift` on the diagonal.
std::vector<double> random_system(int rank, int width, double shift, unsigned seed) {
  const auto n = static_cast<std::size_t>(rank);
  const auto w = static_cast<std::size_t>(width);
  const auto b = random_rows<double>(n, width, seed);
  std::vector<double> v(square_of(rank));
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < w; ++c) v[j * n + k] += b[j * w + c] * b[k * w + c] / static_cast<double>(width);
    }
    v[j * n + j] += shift;
  }
  return v;
}

RowSolver definite_system(int rank) {
  const RowSolver solver(random_system(rank, rank, 1.0, 3), rank);
  EXPECT_TRUE(solver.is_cholesky());
  return solver;
}
// Of half the rank that it should have.
RowSolver singular_system(int rank) {
  const RowSolver solver(random_system(rank, rank / 2, 0.0, 4), rank);
  EXPECT_FALSE(solver.is_cholesky());
  return solver;
}

std::vector<long double> solved_row(const RowSolver& solver, std::span<const long double> given) {
  const std::size_t n = given.size();
  std::vector<long double> x(given.begin(), given.end());
  if (!solver.is_cholesky()) {
    for (std::size_t j = 0; j < n; ++j) {
      x[j] = 0;
      for (std::size_t k = 0; k < n; ++k) x[j] += solver.matrix()[j * n + k] * given[k];
    }
    return x;
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) x[j] -= solver.lower()[j * n + k] * x[k];
    x[j] *= solver.lower()[j * n + j];
  }
  for (std::size_t j = n; j-- > 0;) {
    for (std::size_t k = j + 1; k < n; ++k) x[j] -= solver.matrix()[j * n + k] * x[k];
    x[j] *= solver.matrix()[j * n + j];
  }
  return x;
}

template <class Factor>
struct Updated {
  RowUpdate update;
  std::vector<Factor> factor;
  std::vector<double> gram;
};

// Dense work, and everything on a device that it needs.
class Device {
 public:
  Device(std::uint64_t max_rows, int rank, std::size_t sum_bytes, std::size_t factor_bytes,
         std::uint64_t slab_numbers = usual_slab)
      : sizes_(max_rows, rank, sum_bytes, factor_bytes, /*duals=*/false, slab_numbers),
        scratch_(static_cast<std::size_t>(sizes_.bytes)),
        work_(sizes_, scratch_.data(), stream_, transfer_) {}

  template <class Sum, class Factor>
  Updated<Factor> update(const RowSolver& solver, const std::vector<Sum>& output) {
    const DeviceArray<Sum> given(output, stream_);
    const DeviceArray<Factor> factor(output.size());
    Updated<Factor> made;
    made.update = update_rows<Sum, Factor>(work_, given.data(), output.size() / sizes_.columns, solver, {},
                                           factor.data(), made.gram);
    made.factor = factor.download(stream_);
    return made;
  }

  template <class Factor>
  std::vector<double> gram(const std::vector<Factor>& rows) {
    const DeviceArray<Factor> factor(rows, stream_);
    return work_.gram<Factor>(factor.data(), rows.size() / sizes_.columns);
  }

 private:
  cuda::DenseSizes sizes_;
  DeviceArray<std::byte> scratch_;
  cuda::StagedTransfer transfer_;
  cuda::Stream stream_;
  cuda::DenseWork work_;
};

template <class Factor>
void expect_gram(const std::vector<double>& actual, const std::vector<Factor>& factor, int rank) {
  const auto n = static_cast<std::size_t>(rank);
  ASSERT_EQ(actual.size(), n * n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) {
      long double sum = 0;
      long double magnitude = 0;
      for (std::size_t row = 0; row < factor.size(); row += n) {
        const long double product = static_cast<long double>(factor[row + j]) * factor[row + k];
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_LE(std::abs(actual[j * n + k] - sum), dense_tolerance * magnitude)
          << "entry " << j << ", " << k << ", rank " << rank << ", " << factor.size() / n << " rows";
      ASSERT_EQ(actual[j * n + k], actual[k * n + j]);
    }
  }
}

template <class Sum, class Factor>
void expect_updated(const RowSolver& solver, std::uint64_t rows, std::uint64_t slab_numbers = usual_slab) {
  const int rank = solver.rank();
  const auto n = static_cast<std::size_t>(rank);
  const auto output = random_rows<Sum>(rows, rank, 5);
  Device device(rows + 5, rank, sizeof(Sum), sizeof(Factor), slab_numbers);
  const auto actual = device.update<Sum, Factor>(solver, output);

  std::vector<std::vector<long double>> solved;
  std::vector<long double> squares(n);
  long double inner = 0;
  long double inner_magnitude = 0;
  for (std::size_t start = 0; start < output.size(); start += n) {
    const std::vector<long double> given(output.begin() + static_cast<std::ptrdiff_t>(start),
                                         output.begin() + static_cast<std::ptrdiff_t>(start + n));
    solved.push_back(solved_row(solver, given));
    for (std::size_t r = 0; r < n; ++r) {
      squares[r] += solved.back()[r] * solved.back()[r];
      inner += given[r] * solved.back()[r];
      inner_magnitude += std::abs(given[r] * solved.back()[r]);
    }
  }
  const std::string where = "rank " + std::to_string(rank) + ", " + std::to_string(rows) + " rows";
  EXPECT_LE(std::abs(actual.update.inner - inner), dense_tolerance * inner_magnitude) << where;
  for (std::size_t r = 0; r < n; ++r) {
    EXPECT_NEAR(actual.update.norms[r] / static_cast<double>(std::sqrt(squares[r])), 1.0, dense_tolerance * rank)
        << where;
  }
  long double worst = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    long double largest = 0;
    for (const long double number : solved[row]) largest = std::max(largest, std::abs(number));
    for (std::size_t r = 0; r < n; ++r) {
      const long double error = std::abs(actual.factor[row * n + r] * std::sqrt(squares[r]) - solved[row][r]);
      const long double rounding = std::abs(solved[row][r]) * std::numeric_limits<Factor>::epsilon();
      worst = std::max(worst, (error - rounding) / largest);
    }
  }
  EXPECT_LE(worst, dense_tolerance * rank) << where;
  if (sizeof(Factor) < sizeof(double)) {
    EXPECT_TRUE(actual.gram.empty());
    expect_gram(device.gram(actual.factor), actual.factor, rank);
  } else {
    expect_gram(actual.gram, actual.factor, rank);
  }
}

class EveryDenseOrder : public ::testing::TestWithParam<simt::Order> {
 protected:
  EveryDenseOrder() {
    simt::reset();
    simt::set_order(GetParam());
  }
};

TEST_P(EveryDenseOrder, SolvesRowsBySubstitution) {
  for (const int rank : ranks) {
    const RowSolver system = definite_system(rank);
    for (const std::uint64_t rows : row_counts) expect_updated<double, double>(system, rows);
    expect_updated<double, float>(system, 70);
    expect_updated<float, float>(system, 70);
  }
}

TEST_P(EveryDenseOrder, SolvesRowsByThePseudoInverseWhereTheSystemIsSingular) {
  for (const int rank : ranks) {
    if (rank == 1) continue;  // singular, it is zero: below
    const RowSolver system = singular_system(rank);
    for (const std::uint64_t rows : row_counts) expect_updated<double, double>(system, rows);
    expect_updated<double, float>(system, 70);
    expect_updated<float, float>(system, 70);
  }
}

TEST_P(EveryDenseOrder, JoinsSlabs) {
  for (const RowSolver& system : {definite_system(7), singular_system(7)}) {
    for (const std::uint64_t rows : {149, 150, 451}) {
      expect_updated<double, double>(system, rows, 150 * 7);
      expect_updated<double, float>(system, rows, 150 * 7);
      expect_updated<float, float>(system, rows, 150 * 7);
    }
  }
}

TEST_P(EveryDenseOrder, AnAllZeroSystemGivesZeroRowsAndSums) {
  for (const int rank : {1, 5}) {
    const auto n = static_cast<std::size_t>(rank);
    const RowSolver solver(std::vector<double>(n * n), rank);

    const auto made = Device(40, rank, sizeof(double), sizeof(double))
                          .update<double, double>(solver, random_rows<double>(40, rank, 8));

    EXPECT_EQ(made.factor, std::vector<double>(40 * n));
    EXPECT_EQ(made.update.norms, std::vector<double>(n));
    EXPECT_EQ(made.update.inner, 0);
    EXPECT_EQ(made.gram, std::vector<double>(n * n));
  }
}

TEST_P(EveryDenseOrder, GramMatricesAreSymmetricSumsOfProducts) {
  for (const int rank : ranks) {
    for (const std::uint64_t rows : row_counts) {
      const auto factor = random_rows<double>(rows, rank, 6);
      expect_gram(Device(300, rank, sizeof(double), sizeof(double)).gram(factor), factor, rank);
    }
    const auto rounded = random_rows<float>(33, rank, 6);
    expect_gram(Device(33, rank, sizeof(double), sizeof(float)).gram(rounded), rounded, rank);
  }
}

template <class Sum>
std::vector<Sum> merge(const std::vector<Sum>& output, const std::vector<Sum>& copies) {
  cuda::Stream stream;
  const DeviceArray<Sum> merged(output, stream);
  const DeviceArray<Sum> others(copies, stream);
  const int count = static_cast<int>(copies.size() / output.size());
  cuda::merge_copies<Sum>(merged.data(), others.data(), count, output.size(), stream.get());
  return merged.download(stream);
}

TEST_P(EveryDenseOrder, CopiesAreAddedInTheirOrder) {
  // 1 + 2^-53 is 1, twice; in any other order what is left of 1 - 1 is not zero.
  const std::vector<double> output(300, 1.0);
  std::vector<double> copies(600, 0x1p-53);
  copies.insert(copies.end(), 300, -1.0);

  EXPECT_EQ(merge(output, copies), std::vector<double>(300));
  EXPECT_EQ(merge<float>({1, 2, 3}, {10, 20, 30, 100, 200, 300}), (std::vector<float>{111, 222, 333}));
  EXPECT_EQ(merge<double>({5}, {}), std::vector<double>{5});
}

INSTANTIATE_TEST_SUITE_P(Dense, EveryDenseOrder,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled),
                         [](const auto& which) { return name_of(which.param); });

TEST(Dense, ScratchIsBoundedWhateverTheRows) {
  constexpr std::uint64_t max_rows = std::uint64_t{1} << 32;
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  EXPECT_LE(cuda::DenseSizes(max_rows, 64, sizeof(double), sizeof(double)).bytes, 42 * mebibyte);
  EXPECT_LE(cuda::DenseSizes(max_rows, 64, sizeof(double), sizeof(float)).bytes, 58 * mebibyte);
  EXPECT_LE(cuda::DenseSizes(max_rows, 64, sizeof(float), sizeof(float)).bytes, 74 * mebibyte);
  EXPECT_LE(cuda::DenseSizes(max_rows, 64, sizeof(double), sizeof(double), /*duals=*/true).bytes, 74 * mebibyte);
  EXPECT_LE(cuda::DenseSizes(max_rows, 64, sizeof(float), sizeof(float), /*duals=*/true).bytes, 122 * mebibyte);
  EXPECT_LE(cuda::DenseSizes(max_rows, 4096, sizeof(float), sizeof(float)).bytes,
            384 * mebibyte + 4096 * sizeof(double))
      << "with a weight per column";
  EXPECT_LE(cuda::DenseSizes(40, 8, sizeof(float), sizeof(float)).bytes, mebibyte / 8);
}

TEST(Dense, NamesTheCallOfCublasThatFails) {
  SKIP_ON_HARDWARE();
  for (const char* call : {"cublasCreate", "cublasSetWorkspace", "cublasDtrsm", "cublasDdot", "cublasDsyrk"}) {
    simt::reset();
    simt::fail_call(call, 1, 719);
    try {
      Device(40, 3, sizeof(double), sizeof(double))
          .update<double, double>(definite_system(3), random_rows<double>(40, 3, 8));
      FAIL() << call << " failed, and nobody noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cuda);
      EXPECT_THAT(error.what(), ::testing::StartsWith(call + std::string(": ")));
    }
  }
}

}  // namespace
}  // namespace blco::testing
