// Row updates, Gram matrices and factor transfers of every backend against loops in extended precision.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/wide_rows.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

class RowUpdateOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  // Of a factor, whose entries are at most 1. With mixed it is rounded once, with f32 the output is too.
  double exact() const {
    switch (GetParam().precision) {
      case Precision::f32:
        return 2e-6;
      case Precision::mixed:
        return 3.1e-8;
      case Precision::f64:
        break;
    }
    return 1e-13;
  }
  // Of the sums over a solution.
  double exact_sums() const { return GetParam().precision == Precision::f32 ? 2e-6 : 1e-13; }

  // Leaves an MTTKRP in the output of mode 0 and returns it as the backend holds it.
  static std::vector<double> fill_output(BackendUnderTest& backend, std::uint64_t rows, int rank) {
    const auto tensor = random_tensor({.shape = {rows, 50}, .nnz = 6 * rows, .seed = rows});
    backend.load(random_factors(tensor.shape, rank, 3));
    return backend.pass(encode(tensor, 100'000), 0);
  }
};

TEST_P(RowUpdateOf, SolvesAndNormalisesRows) {
  for (const int rank : {1, 2, 3, 5, 8, 16, 17, 33, 70}) {
    for (const std::uint64_t rows : {1, 33, rank == 17 ? 2500 : 64}) {
      const auto n = static_cast<std::size_t>(rank);
      const std::vector<std::uint64_t> shape{rows, 50};
      BackendUnderTest backend(GetParam(), shape, rank);
      const auto given = fill_output(backend, rows, rank);
      const auto v = definite_matrix(rank);

      const RowUpdate update = backend->update_rows(0, RowSolver(v, rank));

      Wide expected;
      Wide squares(n);
      long double inner = 0;
      long double inner_size = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        const Wide row = solve(v, given.data() + i * n, n);
        for (std::size_t r = 0; r < n; ++r) {
          squares[r] += row[r] * row[r];
          inner += row[r] * given[i * n + r];
          inner_size += std::abs(row[r] * given[i * n + r]);
        }
        expected.insert(expected.end(), row.begin(), row.end());
      }
      EXPECT_NEAR(update.inner, static_cast<double>(inner), exact_sums() * static_cast<double>(inner_size));
      const auto factor = backend.factor(0);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const long double norm = std::sqrt(squares[i % n]);
        ASSERT_NEAR(update.norms[i % n], static_cast<double>(norm), exact_sums() * static_cast<double>(norm));
        ASSERT_NEAR(factor[i], static_cast<double>(expected[i] / norm), exact())
            << "rank " << rank << ", rows " << rows;
      }
      const Wide gram = gram_of(factor, n);
      for (std::size_t i = 0; i < n * n; ++i) {
        ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-13);
      }
    }
  }
}

TEST_P(RowUpdateOf, TakesTheMinimumNormSolutionOfASingularSystem) {
  constexpr int rank = 3;
  constexpr std::uint64_t rows = 70;
  // Columns 0 and 1 are equal, column 2 stands apart: the least solution halves between the equal ones.
  const std::vector<double> v{2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 4.0};
  const std::vector<std::uint64_t> shape{rows, 50};
  BackendUnderTest backend(GetParam(), shape, rank);
  const auto given = fill_output(backend, rows, rank);

  const RowUpdate update = backend->update_rows(0, RowSolver(v, rank));

  const auto factor = backend.factor(0);
  for (std::size_t i = 0; i < rows; ++i) {
    const double* m = given.data() + i * rank;
    const double* a = factor.data() + i * rank;
    EXPECT_NEAR(a[0] * update.norms[0], (m[0] + m[1]) / 8, 10 * exact());
    EXPECT_NEAR(a[1] * update.norms[1], (m[0] + m[1]) / 8, 10 * exact());
    EXPECT_NEAR(a[2] * update.norms[2], m[2] / 4, 10 * exact());
  }
}

// Rows without nonzeros are zero, in the output and so in the factor, whatever they were before.
TEST_P(RowUpdateOf, FollowsRowsThatComeAndGo) {
  constexpr std::uint64_t rows = 200;
  const std::vector<std::uint64_t> shape{rows, 300};
  for (const int rank : {1, 3, 8, 17}) {
    const auto n = static_cast<std::size_t>(rank);
    const auto v = definite_matrix(rank);
    BackendUnderTest backend(GetParam(), shape, rank);
    backend.load(random_factors(shape, rank, 3));
    for (const std::uint64_t step : {2, 3, 1, 67, 5}) {
      CooTensor tensor{shape, {}, {}};
      for (std::uint64_t row = step - 1; row < rows; row += step) {
        tensor.coordinates.insert(tensor.coordinates.end(), {row, (row * row + step) % 300});
        tensor.values.push_back(1.0 + static_cast<double>(row % 7));
      }
      const auto chunks = encode(coalesce(tensor), 64);
      const std::vector<std::vector<double>> factors{backend.factor(0), backend.factor(1)};
      // A longer mode, whose rows are left in the output.
      const auto longer = backend.pass(chunks, 1);
      ASSERT_THAT(longer, RowsNear(coordinate_mttkrp(tensor, factors, rank, 1), GetParam().tolerance()));
      const auto given = backend.pass(chunks, 0);

      const RowUpdate update = backend->update_rows(0, RowSolver(v, rank));

      const auto factor = backend.factor(0);
      for (std::size_t i = 0; i < rows; ++i) {
        const Wide row = solve(v, given.data() + i * n, n);
        for (std::size_t r = 0; r < n; ++r) {
          const double expected = update.norms[r] > 0 ? static_cast<double>(row[r]) / update.norms[r] : 0.0;
          ASSERT_NEAR(factor[i * n + r], expected, exact()) << "rank " << rank << ", step " << step << ", row " << i;
          if ((i + 1) % step == 0) continue;
          ASSERT_EQ(factor[i * n + r], 0.0) << "rank " << rank << ", step " << step << ", row " << i;
        }
      }
      const Wide gram = gram_of(factor, n);
      for (std::size_t i = 0; i < n * n; ++i) {
        ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-13);
      }
    }
  }
}

TEST_P(RowUpdateOf, IsTakenBack) {
  const std::vector<std::uint64_t> shape{70, 50};
  BackendUnderTest backend(GetParam(), shape, 5);
  fill_output(backend, 70, 5);
  backend->update_rows(0, RowSolver(definite_matrix(5), 5));
  const auto before = backend.factor(0);
  std::vector<double> twice = definite_matrix(5);
  for (double& x : twice) x = x * x + 1;
  backend->update_rows(0, RowSolver(twice, 5));
  ASSERT_NE(backend.factor(0), before);

  backend->restore_factor(0);

  EXPECT_EQ(backend.factor(0), before);
  EXPECT_EQ(backend->take_factor(0), before);
}

TEST_P(RowUpdateOf, LeavesAZeroColumnZero) {
  const std::vector<std::uint64_t> shape{40, 50};
  const auto tensor = random_tensor({.shape = shape, .nnz = 300, .seed = 1});
  auto factors = random_factors(shape, 3, 3);
  for (std::size_t i = 0; i < 50; ++i) factors[1][3 * i + 1] = 0.0;
  BackendUnderTest backend(GetParam(), shape, 3);
  backend.load(factors);
  backend.pass(encode(tensor, 1000), 0);
  const std::vector<double> v{1, 0, 0, 0, 1, 0, 0, 0, 1};

  const RowUpdate update = backend->update_rows(0, RowSolver(v, 3));

  EXPECT_EQ(update.norms[1], 0.0);
  const auto factor = backend.factor(0);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(factor[3 * i + 1], 0.0);
  EXPECT_NEAR(backend->gram(0)[0], 1.0, exact());
  EXPECT_EQ(backend->gram(0)[4], 0.0);
}

TEST_P(RowUpdateOf, KeepsTheGramOfALoadedFactor) {
  for (const int rank : {1, 3, 8, 9, 16, 33, 100}) {
    const auto n = static_cast<std::size_t>(rank);
    const std::vector<std::uint64_t> shape{1500, 2};
    BackendUnderTest backend(GetParam(), shape, rank);

    backend->load_factor(0, 0, random_matrix(1500, rank, 9));

    const Wide gram = gram_of(backend.factor(0), n);
    for (std::size_t i = 0; i < n * n; ++i) ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-11);
  }
}

TEST_P(RowUpdateOf, GivesBackTheFactorsThatWereLoaded) {
  const std::vector<std::uint64_t> shape{300, 7};
  for (const int rank : {1, 6, 17}) {
    BackendUnderTest backend(GetParam(), shape, rank);
    auto factor = random_matrix(300, rank, 4);
    for (double& number : factor) number = static_cast<float>(number);
    backend->load_factor(0, 0, factor);

    EXPECT_EQ(backend.factor(0), factor);
    EXPECT_EQ(backend->take_factor(0), factor);
  }
}

INSTANTIATE_TEST_SUITE_P(RowUpdate, RowUpdateOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
