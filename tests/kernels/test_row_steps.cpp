// Steps of methods over all rows of a factor: every backend against loops in extended precision over what it holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/row_step_cases.hpp"

namespace blco::testing {
namespace {

class RowStepsOf : public RowStepsTest {};

TEST_P(RowStepsOf, AddUpColumns) {
  for_sizes([&](std::uint64_t rows, int rank) {
    const std::vector<std::uint64_t> shape{rows, 2};
    BackendUnderTest backend(GetParam(), shape, rank);
    backend->load_factor(0, 0, random_matrix(rows, rank, 9));

    const std::vector<double> sums = backend->column_sums(0);

    ASSERT_EQ(sums.size(), static_cast<std::size_t>(rank));
    const auto factor = backend.factor(0);
    Wide expected(sums.size());
    Wide sizes(sums.size());
    for (std::size_t at = 0; at < factor.size(); ++at) {
      expected[at % sums.size()] += factor[at];
      sizes[at % sums.size()] += std::abs(factor[at]);
    }
    for (std::size_t r = 0; r < sums.size(); ++r) {
      EXPECT_NEAR(sums[r], static_cast<double>(expected[r]), static_cast<double>(1e-13L * sizes[r]));
    }
  });
}

TEST_P(RowStepsOf, ScaleAndShiftColumns) {
  for_sizes([&](std::uint64_t rows, int rank) {
    const auto n = static_cast<std::size_t>(rank);
    const std::vector<std::uint64_t> shape{rows, 2};
    const std::vector<double> scales = random_matrix(1, rank, 2);
    for (const std::vector<double>& shifts : {std::vector<double>{}, random_matrix(1, rank, 3)}) {
      BackendUnderTest backend(GetParam(), shape, rank);
      backend->load_factor(0, 0, random_matrix(rows, rank, 9));
      const auto before = backend.factor(0);
      static_cast<void>(backend->gram(0));

      backend->scale_columns(0, scales, shifts);

      Wide expected;
      for (std::size_t at = 0; at < before.size(); ++at) {
        const long double shift = shifts.empty() ? 0 : shifts[at % n];
        expected.push_back(static_cast<long double>(before[at]) * scales[at % n] + shift);
      }
      const auto factor = backend.factor(0);
      expect_rows(factor, expected, "rank " + std::to_string(rank));
      const Wide gram = gram_of(factor, n);
      for (std::size_t i = 0; i < n * n; ++i) ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-10);
    }
  });
}

TEST_P(RowStepsOf, RaiseToZeroWhatIsNegative) {
  for_sizes([&](std::uint64_t rows, int rank) {
    const auto n = static_cast<std::size_t>(rank);
    const std::vector<std::uint64_t> shape{rows, 2};
    BackendUnderTest backend(GetParam(), shape, rank);
    backend->load_factor(0, 0, random_matrix(rows, rank, 9));
    auto expected = backend.factor(0);

    backend->raise_to_zero(0);

    for (double& number : expected) number = number < 0 ? 0 : number;
    EXPECT_EQ(backend.factor(0), expected);
    const Wide gram = gram_of(expected, n);
    for (std::size_t i = 0; i < n * n; ++i) ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-10);
  });
}

// Rows that were zero after an update are rows like others.
TEST_P(RowStepsOf, ShiftRowsWithoutNonzeros) {
  const CooTensor tensor{{130, 4}, {2, 1, 129, 3}, {1.0, 2.0}};
  BackendUnderTest backend(GetParam(), tensor.shape, 3);
  backend.load(random_factors(tensor.shape, 3, 3));
  backend.pass(encode(tensor, 10), 0);
  backend->update_rows(0, RowSolver(definite_matrix(3), 3));
  const std::vector<double> scales{1, 1, 1};
  const std::vector<double> shifts{1, 2, 0};

  backend->scale_columns(0, scales, shifts);

  const auto factor = backend.factor(0);
  EXPECT_THAT(std::vector(factor.begin(), factor.begin() + 6), ::testing::ElementsAre(1, 2, 0, 1, 2, 0));
  const Wide gram = gram_of(factor, 3);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-10);
}

TEST_P(RowStepsOf, MeasureHowFarAModeIsFromItsConditions) {
  for_sizes([&](std::uint64_t rows, int rank) {
    for (const bool has_held : {false, true}) {
      ApproachedMode mode(GetParam(), rows, rank);
      AprStep step = mode.step(has_held);

      const AprViolation violation = mode->apr_measure(0, step, false);

      const auto b = mode.b();
      const auto phi = mode.phi(step);
      double largest = 0;
      bool has_stuck = false;
      for (std::size_t at = 0; at < b.size(); ++at) {
        const double size = b[at] * (has_held ? step.held_sums[at % step.held_sums.size()] : 1);
        largest = std::max(largest, std::abs(std::min(size, 1 - phi[at])));
        has_stuck = has_stuck || mode.is_stuck_at(at, b[at], phi[at]);
      }
      EXPECT_NEAR(violation.largest, largest, GetParam().tolerance() * (1 + largest));
      EXPECT_EQ(violation.has_stuck_zeros, has_stuck) << rows << " rows, rank " << rank;
      EXPECT_EQ(mode.b(), b);
      for (const double tolerance : {0.5 * largest, 2 * largest}) {
        step.tolerance = tolerance;
        const AprViolation any = mode->apr_measure(0, step, true);
        EXPECT_EQ(any.largest >= tolerance, largest >= tolerance);
        EXPECT_FALSE(any.has_stuck_zeros);
      }
      step.kappa = 0;
      EXPECT_FALSE(mode->apr_measure(0, step, false).has_stuck_zeros);
    }
  });
}

TEST_P(RowStepsOf, FreeZerosThatAreStuck) {
  for_sizes([&](std::uint64_t rows, int rank) {
    for (const bool has_held : {false, true}) {
      ApproachedMode mode(GetParam(), rows, rank);
      const AprStep step = mode.step(has_held);
      const auto before = mode.b();

      mode->apr_free_zeros(0, step);

      const auto phi = mode.phi(step);
      Wide expected(before.begin(), before.end());
      std::size_t freed = 0;
      for (std::size_t at = 0; at < before.size(); ++at) {
        if (!mode.is_stuck_at(at, before[at], phi[at])) continue;
        expected[at] += 0.25L * mode.scale(at);
        ++freed;
      }
      EXPECT_GE(freed, rows / 150);
      expect_rows(mode.b(), expected, "rank " + std::to_string(rank));
      EXPECT_FALSE(mode->apr_measure(0, step, false).has_stuck_zeros);
    }
  });
}

TEST_P(RowStepsOf, MultiplyByPhi) {
  for_sizes([&](std::uint64_t rows, int rank) {
    for (const bool has_held : {false, true}) {
      ApproachedMode mode(GetParam(), rows, rank);
      const AprStep step = mode.step(has_held);
      Wide expected;
      const auto before = mode.b();
      const auto phi = mode.phi(step);
      for (std::size_t at = 0; at < before.size(); ++at) {
        expected.push_back(static_cast<long double>(before[at]) * phi[at]);
      }

      mode->apr_multiply(0, step);

      expect_rows(mode.b(), expected, "rank " + std::to_string(rank));
      EXPECT_EQ(mode.phi(step), phi) << "the output stays";
      const auto n = static_cast<std::size_t>(rank);
      const Wide gram = gram_of(mode.b(), n);
      for (std::size_t i = 0; i < n * n; ++i) {
        ASSERT_NEAR(mode->gram(0)[i], static_cast<double>(gram[i]),
                    1e-10 * (1 + std::abs(static_cast<double>(gram[i]))));
      }
    }
  });
}

TEST_P(RowStepsOf, RefuseWhatDoesNotFitTheRank) {
  ApproachedMode mode(GetParam(), 20, 3);
  const std::vector<double> two(2, 1.0);
  const std::vector<double> three(3, 1.0);
  AprStep step = mode.step(false);
  EXPECT_THROW(mode->scale_columns(0, two), Error);
  EXPECT_THROW(mode->scale_columns(0, three, two), Error);
  EXPECT_THROW(mode->apr_measure(1, step, false), Error) << "the pass has not filled that output";

  step.held_sums = two;
  EXPECT_THROW(mode->apr_measure(0, step, false), Error);
  step = {.weights = two};
  EXPECT_THROW(mode->apr_free_zeros(0, step), Error);
  EXPECT_THROW(mode->apr_multiply(0, step), Error);
}

INSTANTIATE_TEST_SUITE_P(RowSteps, RowStepsOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

TEST(HostBackendRowSteps, DoNotDependOnTheNumberOfThreads) {
  constexpr std::uint64_t rows = 3001;
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    std::vector<std::vector<double>> first;
    for (const int threads : {1, 2, 3, 5}) {
      ApproachedMode mode({threads, precision}, rows, 7);
      const AprStep step = mode.step(true);

      const AprViolation violation = mode->apr_measure(0, step, false);
      std::vector<std::vector<double>> results{{violation.largest, violation.has_stuck_zeros ? 1.0 : 0.0}};
      mode->apr_free_zeros(0, step);
      results.push_back(mode.b());
      mode->apr_multiply(0, step);
      results.push_back(mode.b());
      results.push_back(mode->column_sums(0));
      mode->scale_columns(0, results.back(), results.back());
      results.push_back(mode.b());
      results.push_back(mode->column_sums(0));

      if (first.empty()) first = results;
      EXPECT_EQ(results, first) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace blco::testing
