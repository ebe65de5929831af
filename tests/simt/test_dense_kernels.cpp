// Row updates, Gram matrices and merges in the emulator, in three thread orders, against loops in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/dense.hpp"
#include "kernels/row_solver.hpp"
#include "tests/simt/device_array.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

// Of the sum of absolute products.
constexpr double dense_tolerance = 1e-13;
constexpr int ranks[] = {1, 7, 16, 32, 33, 64, 100, 200};
constexpr std::uint64_t row_counts[] = {1, 31, 33, 300};
// The longest rows that 1, 2, 4 and 8 lanes hold, and one more.
constexpr int ranks_astride_lanes[] = {16, 17, 32, 33, 64, 65, 128, 129};

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

// What a RowSolver hands to a device; lower is empty for the pseudo-inverse.
struct System {
  explicit System(const RowSolver& solver)
      : rank(solver.rank()),
        matrix(solver.matrix().begin(), solver.matrix().end()),
        lower(solver.lower().begin(), solver.lower().end()) {}
  System(int its_rank, std::vector<double> its_matrix, std::vector<double> its_lower)
      : rank(its_rank), matrix(std::move(its_matrix)), lower(std::move(its_lower)) {}

  int rank;
  std::vector<double> matrix;
  std::vector<double> lower;
};

System definite_system(int rank) {
  const RowSolver solver(random_system(rank, rank, 1.0, 3), rank);
  EXPECT_TRUE(solver.is_cholesky());
  return System(solver);
}
// Of half the rank that it should have.
System singular_system(int rank) {
  const RowSolver solver(random_system(rank, rank / 2, 0.0, 4), rank);
  EXPECT_FALSE(solver.is_cholesky());
  return System(solver);
}

// Without the cost of making one for long rows: random L with a dominant diagonal, or a random symmetric matrix.
System long_system(int rank, bool cholesky) {
  const auto n = static_cast<std::size_t>(rank);
  auto lower = random_rows<double>(n, rank, 10);
  for (double& number : lower) number /= static_cast<double>(rank);
  std::vector<double> matrix(lower.size());
  for (std::size_t j = 0; j < n; ++j) {
    lower[j * n + j] += 1;
    for (std::size_t k = 0; k <= j; ++k) matrix[j * n + k] = matrix[k * n + j] = lower[j * n + k];
  }
  if (!cholesky) lower.clear();
  return {rank, std::move(matrix), std::move(lower)};
}

std::vector<long double> solved_row(const System& system, std::span<const long double> given) {
  const std::size_t n = given.size();
  std::vector<long double> x(given.begin(), given.end());
  if (system.lower.empty()) {
    for (std::size_t j = 0; j < n; ++j) {
      x[j] = 0;
      for (std::size_t k = 0; k < n; ++k) x[j] += system.matrix[j * n + k] * given[k];
    }
    return x;
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) x[j] -= system.lower[j * n + k] * x[k];
    x[j] *= system.lower[j * n + j];
  }
  for (std::size_t j = n; j-- > 0;) {
    for (std::size_t k = j + 1; k < n; ++k) x[j] -= system.matrix[j * n + k] * x[k];
    x[j] *= system.matrix[j * n + j];
  }
  return x;
}

template <class Real>
struct Solved {
  std::vector<Real> factor;
  std::vector<double> sums;
};

// Everything on a device that a launcher needs.
class Device {
 public:
  template <class Real>
  Solved<Real> solve(const System& system, const std::vector<Real>& output, std::uint64_t rows) {
    const int rank = system.rank;
    const DeviceArray<Real> given(output, stream_);
    const DeviceArray<double> matrix(system.matrix, stream_);
    const DeviceArray<double> lower(system.lower, stream_);
    const DeviceArray<Real> factor(output.size());
    const DeviceArray<double> sums(static_cast<std::size_t>(rank) + 1);
    const DeviceArray<std::byte> scratch(cuda::dense_scratch_bytes(rows, rank));
    const cuda::SolverView view{matrix.data(), lower.data()};
    cuda::solve_rows<Real>(given.data(), rows, rank, view, factor.data(), sums.data(), scratch.data(), stream_.get());
    return {factor.download(stream_), sums.download(stream_)};
  }

  template <class Real>
  std::vector<double> gram(const std::vector<Real>& rows, std::uint64_t count, int rank) {
    const DeviceArray<Real> factor(rows, stream_);
    const DeviceArray<double> result(square_of(rank));
    const DeviceArray<std::byte> scratch(cuda::dense_scratch_bytes(count, rank));
    cuda::gram<Real>(factor.data(), count, rank, result.data(), scratch.data(), stream_.get());
    return result.download(stream_);
  }

  template <class Real>
  std::vector<Real> normalise(const std::vector<Real>& rows, std::uint64_t count, const std::vector<double>& squares) {
    const DeviceArray<Real> factor(rows, stream_);
    const DeviceArray<double> sums(squares, stream_);
    cuda::normalise_columns<Real>(factor.data(), count, static_cast<int>(squares.size()), sums.data(), stream_.get());
    return factor.download(stream_);
  }

  template <class Real>
  std::vector<Real> merge(const std::vector<Real>& output, const std::vector<Real>& copies) {
    const DeviceArray<Real> merged(output, stream_);
    const DeviceArray<Real> others(copies, stream_);
    const int count = static_cast<int>(copies.size() / output.size());
    cuda::merge_copies<Real>(merged.data(), others.data(), count, output.size(), stream_.get());
    return merged.download(stream_);
  }

 private:
  cuda::Stream stream_;
};

template <class Real>
void expect_solved(const System& system, std::uint64_t rows) {
  const int rank = system.rank;
  const auto n = static_cast<std::size_t>(rank);
  const auto output = random_rows<Real>(rows, rank, 5);
  const auto actual = Device().solve<Real>(system, output, rows);

  std::vector<long double> squares(n);
  long double inner = 0;
  long double inner_magnitude = 0;
  long double worst = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::vector<long double> given(output.begin() + static_cast<std::ptrdiff_t>(row * n),
                                         output.begin() + static_cast<std::ptrdiff_t>(row * n + n));
    const auto expected = solved_row(system, given);
    long double largest = 0;
    for (const long double number : expected) largest = std::max(largest, std::abs(number));
    for (std::size_t r = 0; r < n; ++r) {
      squares[r] += expected[r] * expected[r];
      inner += given[r] * expected[r];
      inner_magnitude += std::abs(given[r] * expected[r]);
      const long double error = std::abs(actual.factor[row * n + r] - expected[r]);
      worst = std::max(worst, (error - std::abs(expected[r]) * std::numeric_limits<Real>::epsilon()) / largest);
    }
  }
  const std::string where = "rank " + std::to_string(rank) + ", " + std::to_string(rows) + " rows";
  EXPECT_LE(worst, dense_tolerance) << where;
  for (std::size_t r = 0; r < n; ++r) {
    EXPECT_NEAR(actual.sums[r] / static_cast<double>(squares[r]), 1.0, dense_tolerance * static_cast<double>(rank))
        << where;
  }
  EXPECT_LE(std::abs(actual.sums[n] - inner), dense_tolerance * inner_magnitude) << where;
}

template <class Real>
void expect_gram(std::uint64_t rows, int rank) {
  const auto n = static_cast<std::size_t>(rank);
  const auto factor = random_rows<Real>(rows, rank, 6);
  const auto actual = Device().gram<Real>(factor, rows, rank);

  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) {
      long double sum = 0;
      long double magnitude = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        const long double product = static_cast<long double>(factor[row * n + j]) * factor[row * n + k];
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_LE(std::abs(actual[j * n + k] - sum), dense_tolerance * magnitude)
          << "entry " << j << ", " << k << ", rank " << rank << ", " << rows << " rows";
      ASSERT_EQ(actual[j * n + k], actual[k * n + j]);
    }
  }
}

class EveryDenseOrder : public ::testing::TestWithParam<simt::Order> {
 protected:
  EveryDenseOrder() {
    simt::reset();
    simt::set_order(GetParam());
  }

  // The largest case takes as long as all others: one order must do.
  bool is_tried(int rank, std::uint64_t rows) const {
    return rank < 200 || rows < 300 || GetParam() == simt::Order::forward;
  }
};

TEST_P(EveryDenseOrder, SolvesRowsBySubstitution) {
  for (const int rank : ranks) {
    const System system = definite_system(rank);
    for (const std::uint64_t rows : row_counts) {
      if (is_tried(rank, rows)) expect_solved<double>(system, rows);
    }
    expect_solved<float>(system, 33);
  }
}

TEST_P(EveryDenseOrder, SolvesRowsByThePseudoInverseWhereTheSystemIsSingular) {
  for (const int rank : ranks) {
    if (rank == 1) continue;  // singular, it is zero: below
    const System system = singular_system(rank);
    for (const std::uint64_t rows : row_counts) {
      if (is_tried(rank, rows)) expect_solved<double>(system, rows);
    }
    expect_solved<float>(system, 33);
  }
}

TEST_P(EveryDenseOrder, AnAllZeroSystemGivesZeroRowsAndSums) {
  for (const int rank : {1, 5}) {
    const auto n = static_cast<std::size_t>(rank);
    const RowSolver solver(std::vector<double>(n * n), rank);

    const auto solved = Device().solve<double>(System(solver), random_rows<double>(40, rank, 8), 40);

    EXPECT_EQ(solved.factor, std::vector<double>(40 * n));
    EXPECT_EQ(solved.sums, std::vector<double>(n + 1));
  }
}

TEST_P(EveryDenseOrder, GramMatricesAreSymmetricSumsOfProducts) {
  for (const int rank : ranks) {
    for (const std::uint64_t rows : row_counts) {
      if (is_tried(rank, rows)) expect_gram<double>(rows, rank);
    }
    expect_gram<float>(33, rank);
  }
}

TEST_P(EveryDenseOrder, ColumnsAreDividedByTheirNormsAndZeroColumnsStay) {
  for (const int rank : {1, 7, 33, 200, 300}) {
    const auto n = static_cast<std::size_t>(rank);
    for (const std::uint64_t rows : row_counts) {
      const auto factor = random_rows<double>(rows, rank, 7);
      std::vector<double> squares(n);
      for (std::size_t r = 0; r < n; ++r) squares[r] = r % 3 == 2 ? 0.0 : static_cast<double>(r + 2) / 3;

      const auto scaled = Device().normalise<double>(factor, rows, squares);

      for (std::size_t i = 0; i < factor.size(); ++i) {
        const double norm = squares[i % n] > 0 ? std::sqrt(squares[i % n]) : 1.0;
        ASSERT_DOUBLE_EQ(scaled[i], factor[i] / norm) << "rank " << rank << ", " << rows << " rows, number " << i;
      }
    }
  }
}

TEST_P(EveryDenseOrder, CopiesAreAddedInTheirOrder) {
  // 1 + 2^-53 is 1, twice; in any other order what is left of 1 - 1 is not zero.
  const std::vector<double> output(300, 1.0);
  std::vector<double> copies(600, 0x1p-53);
  copies.insert(copies.end(), 300, -1.0);

  EXPECT_EQ(Device().merge<double>(output, copies), std::vector<double>(300));
  EXPECT_EQ(Device().merge<float>({1, 2, 3}, {10, 20, 30, 100, 200, 300}), (std::vector<float>{111, 222, 333}));
  EXPECT_EQ(Device().merge<double>({5}, {}), std::vector<double>{5});
}

INSTANTIATE_TEST_SUITE_P(DenseKernels, EveryDenseOrder,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled),
                         [](const auto& which) { return name_of(which.param); });

TEST(DenseKernels, SolvesRowsAstrideWhatLanesHold) {
  simt::reset();
  for (const int rank : ranks_astride_lanes) {
    expect_solved<double>(definite_system(rank), 70);
    expect_solved<double>(singular_system(rank), 70);
  }
}

TEST(DenseKernels, SolvesRowsTooLongToBeHeldFourAtATime) {
  simt::reset();
  expect_solved<double>(long_system(1027, true), 5);
  expect_solved<double>(long_system(1027, false), 5);
}

TEST(DenseKernels, NormalisesMoreNumbersThanAGridHasThreads) {
  simt::reset();
  constexpr std::uint64_t rows = 8'000;
  const std::vector<float> factor(rows * 37, 3.0F);
  std::vector<double> squares(37, 4.0);
  squares[36] = 9.0;

  const auto scaled = Device().normalise<float>(factor, rows, squares);

  for (std::size_t i = 0; i < scaled.size(); ++i) ASSERT_EQ(scaled[i], i % 37 == 36 ? 1.0F : 1.5F) << i;
}

TEST(DenseKernels, SumsAreTheSameBitForBitInEveryThreadOrder) {
  for (const int rank : {7, 33, 200}) {
    constexpr std::uint64_t rows = 700;
    const System system = definite_system(rank);
    const auto output = random_rows<double>(rows, rank, 9);
    simt::reset();
    const auto solved = Device().solve<double>(system, output, rows);
    const auto gram = Device().gram<double>(output, rows, rank);

    for (const simt::Order order : {simt::Order::reverse, simt::Order::shuffled}) {
      simt::set_order(order, 2);
      const auto again = Device().solve<double>(system, output, rows);
      EXPECT_EQ(again.factor, solved.factor);
      EXPECT_EQ(again.sums, solved.sums);
      EXPECT_EQ(Device().gram<double>(output, rows, rank), gram);
    }
  }
}

TEST(DenseKernels, ScratchForTheLongestModeServesShorterOnes) {
  for (const int rank : {1, 8, 16, 33, 100, 513, 4096}) {
    std::uint64_t before = 0;
    for (std::uint64_t rows = 1; rows < 100'000; rows += rows < 3000 ? 1 : 31) {
      const std::uint64_t bytes = cuda::dense_scratch_bytes(rows, rank);
      ASSERT_GE(bytes, before) << rows << " rows, rank " << rank;
      before = bytes;
    }
  }
}

TEST(DenseKernels, SlabsHoldAllRowsAndScratchIsBounded) {
  constexpr std::uint64_t max_rows = std::uint64_t{1} << 32;
  for (const int rank : {1, 16, 33, 200, 4096}) {
    for (const std::uint64_t rows : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{32'769}, max_rows}) {
      for (const cuda::Slabs slabs : {cuda::solve_slabs(rows, rank), cuda::gram_slabs(rows, rank)}) {
        EXPECT_GE(slabs.count * slabs.rows, rows);
        EXPECT_LE(slabs.count, std::min<std::uint64_t>(rows, 512));
      }
    }
  }
  EXPECT_LE(cuda::dense_scratch_bytes(max_rows, 64), std::uint64_t{64} << 20);
  EXPECT_LE(cuda::dense_scratch_bytes(max_rows, 4096), std::uint64_t{146} << 20);
}

}  // namespace
}  // namespace blco::testing
