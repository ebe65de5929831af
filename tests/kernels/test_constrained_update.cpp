// HALS and ADMM of every backend: their steps against loops in extended precision, and where they converge against
// optima found by trying every set of bounds that can hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/constrained_rows.hpp"

namespace blco::testing {
namespace {

class ConstrainedUpdateOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  // Of numbers of about 1, which are rounded when they are stored.
  double rounding() const { return GetParam().precision == Precision::f64 ? 1e-13 : 1e-6; }
  // Of a fixed point that rounded numbers are led to.
  double converged() const { return GetParam().precision == Precision::f64 ? 1e-11 : 3e-6; }
};

TEST_P(ConstrainedUpdateOf, HalsTakesTheMinimumOfEachColumnInTurn) {
  for (const int rank : {1, 3, 8, 16, 17, 40}) {
    const auto n = static_cast<std::size_t>(rank);
    const TestSystem system(rank);
    const std::vector<double> weights = nonnegative_matrix(n, 1, 8);
    for (const std::uint64_t rows : {1, 63, 64, 65, 300}) {
      UpdatedRows backend(GetParam(), rows, rank);
      backend->load_factor(0, 0, nonnegative_matrix(rows, rank, 4));
      const auto given = backend.fill(output_with_gaps(rows, rank, rank));
      const auto old = backend.factor();

      const RowUpdate update = backend->update_rows(0, system.problem(nonnegative, weights));

      Wide expected(rows * n);
      Wide squares(n);
      long double inner = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<long double>(old[i]) * weights[i % n];
      for (std::size_t i = 0; i < rows; ++i) wide_hals(system, 0, &given[i * n], &expected[i * n], n);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        squares[i % n] += expected[i] * expected[i];
        inner += expected[i] * given[i];
      }
      const auto actual = backend.factor();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const long double norm = std::sqrt(squares[i % n]);
        if (norm == 0) continue;  // below: DeadColumnsComeBack
        ASSERT_NEAR(update.norms[i % n], static_cast<double>(norm), rounding() * static_cast<double>(norm));
        ASSERT_NEAR(actual[i], static_cast<double>(expected[i] / norm), rounding()) << rank << " x " << rows;
      }
      ASSERT_NEAR(update.inner, static_cast<double>(inner), rounding() * static_cast<double>(rows * n));
      const Wide gram = gram_of(actual, n);
      for (std::size_t i = 0; i < n * n; ++i) {
        ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-13);
      }
    }
  }
}

TEST_P(ConstrainedUpdateOf, AdmmTakesItsStepsInEveryRow) {
  for (const int rank : {1, 3, 8, 16, 17, 40}) {
    const auto n = static_cast<std::size_t>(rank);
    const TestSystem system(rank, test_rho);
    const Wide inverse = wide_inverse(system.shifted(rank, test_rho), n);
    const std::vector<double> weights = nonnegative_matrix(n, 1, 8);
    for (const RowConstraint& constraint : {unit_box, on_simplex, sparse, sparse_box}) {
      for (const std::uint64_t rows : {1, 63, 64, 65, rank == 17 ? 300 : 2}) {
        UpdatedRows backend(GetParam(), rows, rank);
        backend->load_factor(0, 0, random_matrix(rows, rank, 4));
        backend->load_dual(0, 0, random_matrix(rows, rank, 5));
        const auto given = backend.fill(output_with_gaps(rows, rank, rank));
        const auto old = backend.factor();
        const auto old_dual = backend.dual();

        const RowUpdate update = backend->update_rows(0, system.problem(constraint, weights));

        Wide expected(rows * n);
        Wide dual(old_dual.begin(), old_dual.end());
        long double inner = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expected[i] = static_cast<long double>(old[i]) * weights[i % n];
        }
        for (std::size_t i = 0; i < rows; ++i) {
          wide_admm(inverse, constraint, &given[i * n], &expected[i * n], &dual[i * n], n);
        }
        for (std::size_t i = 0; i < expected.size(); ++i) inner += expected[i] * given[i];
        const auto actual = backend.factor();
        const auto actual_dual = backend.dual();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(actual[i], static_cast<double>(expected[i]), rounding()) << rank << " x " << rows;
          ASSERT_NEAR(actual_dual[i], static_cast<double>(dual[i]), rounding()) << rank << " x " << rows;
        }
        ASSERT_EQ(update.norms, std::vector<double>(n, 1.0));
        ASSERT_NEAR(update.inner, static_cast<double>(inner), rounding() * static_cast<double>(rows * n));
        const Wide gram = gram_of(actual, n);
        for (std::size_t i = 0; i < n * n; ++i) {
          ASSERT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-13 * static_cast<double>(rows));
        }
      }
    }
  }
}

TEST_P(ConstrainedUpdateOf, AdmmTakesThePseudoInverseOfASingularSystem) {
  // V + rho I = (2 2; 2 2), up to the rho that the right side has.
  const TestSystem system({2.0, 2.0, 2.0, 2.0}, 2, 0.0);
  ASSERT_FALSE(system.solver.is_cholesky());
  UpdatedRows backend(GetParam(), 70, 2);
  backend.start(random_matrix(70, 2, 4), {}, random_matrix(70, 2, 6));
  const auto old = backend.factor();
  const auto given = backend.fill(random_matrix(70, 2, 6));

  backend->update_rows(0, system.problem(unit_box));

  const auto actual = backend.factor();
  for (std::size_t i = 0; i < 70; ++i) {
    long double a[] = {old[2 * i], old[2 * i + 1]};
    long double u[] = {0, 0};
    for (int step = 0; step < admm_steps; ++step) {
      // The pseudo-inverse is an eighth everywhere.
      const long double t = (given[2 * i] + given[2 * i + 1] + test_rho * (a[0] + u[0] + a[1] + u[1])) / 8;
      for (int r = 0; r < 2; ++r) {
        a[r] = std::clamp(t - u[r], 0.1L, 0.6L);
        u[r] += a[r] - t;
      }
    }
    for (std::size_t r = 0; r < 2; ++r) ASSERT_NEAR(actual[2 * i + r], static_cast<double>(a[r]), rounding());
  }
}

TEST_P(ConstrainedUpdateOf, ConvergesToTheBestRowsWithinBounds) {
  constexpr std::uint64_t rows = 90;
  for (const RowConstraint& constraint :
       {nonnegative, RowConstraint{.set = RowSet::nonnegative, .l1 = 0.5}, unit_box, sparse, sparse_box}) {
    const TestSystem system(3, constraint.needs_dual() ? test_rho : 0.0);
    UpdatedRows backend(GetParam(), rows, 3);
    backend.start(nonnegative_matrix(rows, 3, 4), {}, random_matrix(rows, 3, 6));
    std::vector<double> weights;
    std::vector<double> given;

    for (int update = 0; update < 40; ++update) {
      given = backend.fill(random_matrix(rows, 3, 6));
      weights = backend->update_rows(0, system.problem(constraint, weights)).norms;
    }

    const auto actual = backend.factor();
    for (std::size_t i = 0; i < rows; ++i) {
      const Wide best = best_between_bounds(system.v, constraint, &given[3 * i]);
      for (std::size_t r = 0; r < 3; ++r) {
        ASSERT_NEAR(actual[3 * i + r] * weights[r], static_cast<double>(best[r]), converged()) << "row " << i;
      }
    }
  }
}

TEST_P(ConstrainedUpdateOf, ConvergesToTheBestRowsOnTheSimplex) {
  constexpr std::uint64_t rows = 90;
  const TestSystem system(3, test_rho);
  UpdatedRows backend(GetParam(), rows, 3);
  const auto output = output_with_gaps(rows, 3, 5.0);
  backend.start(nonnegative_matrix(rows, 3, 4), {}, output);
  std::vector<double> given;

  for (int update = 0; update < 40; ++update) {
    given = backend.fill(output);
    backend->update_rows(0, system.problem(on_simplex));
  }

  const auto actual = backend.factor();
  for (std::size_t i = 0; i < rows; ++i) {
    const Wide best = best_on_simplex(system.v, &given[3 * i]);
    for (std::size_t r = 0; r < 3; ++r) {
      ASSERT_NEAR(actual[3 * i + r], static_cast<double>(best[r]), converged()) << "row " << i;
    }
    ASSERT_NEAR(actual[3 * i] + actual[3 * i + 1] + actual[3 * i + 2], 1.0, rounding());
  }
}

TEST_P(ConstrainedUpdateOf, RowsOfTheSimplexAddUpToOneWhateverTheOutput) {
  for (const double largest : {0.0, 1e-8, 1e4, 1e12}) {
    const TestSystem system(5, test_rho);
    UpdatedRows backend(GetParam(), 40, 5);
    backend.start(random_matrix(40, 5, 1), {}, output_with_gaps(40, 5, largest));

    backend->update_rows(0, system.problem(on_simplex));

    const auto actual = backend.factor();
    for (std::size_t i = 0; i < 40; ++i) {
      double sum = 0;
      for (std::size_t r = 0; r < 5; ++r) {
        ASSERT_GE(actual[5 * i + r], 0.0);
        sum += actual[5 * i + r];
      }
      ASSERT_NEAR(sum, 1.0, rounding()) << "largest " << largest << ", row " << i;
    }
  }
}

TEST_P(ConstrainedUpdateOf, DeadColumnsComeBack) {
  constexpr std::uint64_t rows = 130;
  std::vector<double> output = output_with_gaps(rows, 3, 1.0);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = i % 3 == 1 ? -std::abs(output[i]) : std::abs(output[i]);
  const TestSystem system({1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 0.0);
  UpdatedRows backend(GetParam(), rows, 3);
  backend.start(nonnegative_matrix(rows, 3, 4), {}, output);

  const RowUpdate update = backend->update_rows(0, system.problem(nonnegative));

  EXPECT_EQ(update.norms[1], 0.0);
  EXPECT_GT(update.norms[0], 1.0);
  const auto actual = backend.factor();
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_NEAR(actual[3 * i + 1], 1 / std::sqrt(130.0), rounding());
    if (i % 3 == 1) {
      ASSERT_EQ(actual[3 * i], 0.0);
    }
  }
  const Wide gram = gram_of(actual, 3);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(backend->gram(0)[i], static_cast<double>(gram[i]), 1e-13);
  EXPECT_NEAR(backend->gram(0)[4], 1.0, rounding());

  // With a penalty, columns keep their norms: a zero column may stay.
  backend.fill(output);
  RowConstraint penalised = nonnegative;
  penalised.l1 = 0.1;
  EXPECT_EQ(backend->update_rows(0, system.problem(penalised)).norms, std::vector<double>(3, 1.0));
  for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(backend.factor()[3 * i + 1], 0.0);
}

TEST_P(ConstrainedUpdateOf, AllColumnsComeBackWithoutNonzeros) {
  const TestSystem system(3);
  UpdatedRows backend(GetParam(), 65, 3);
  backend.start(nonnegative_matrix(65, 3, 4), {}, std::vector<double>(195));

  const RowUpdate update = backend->update_rows(0, system.problem(nonnegative));

  EXPECT_EQ(update.norms, std::vector<double>(3));
  EXPECT_EQ(update.inner, 0.0);
  for (const double number : backend.factor()) ASSERT_NEAR(number, 1 / std::sqrt(65.0), rounding());
  for (const double number : backend->gram(0)) EXPECT_NEAR(number, 1.0, rounding());
}

TEST_P(ConstrainedUpdateOf, LeavesAColumnWithoutASystem) {
  const TestSystem system({2, 0, 0, 0, 0, 0, 0, 0, 3}, 3, 0.0);
  UpdatedRows backend(GetParam(), 70, 3);
  const auto old = nonnegative_matrix(70, 3, 4);
  backend.start(old, {}, random_matrix(70, 3, 6));
  const auto held = backend.factor();

  const RowUpdate update = backend->update_rows(0, system.problem(nonnegative));

  for (std::size_t i = 0; i < 70; ++i) {
    ASSERT_NEAR(backend.factor()[3 * i + 1] * update.norms[1], held[3 * i + 1], rounding());
  }
}

TEST_P(ConstrainedUpdateOf, FactorAndDualAreTakenBack) {
  for (const RowConstraint& constraint : {nonnegative, on_simplex, sparse_box}) {
    const TestSystem system(5, test_rho);
    UpdatedRows backend(GetParam(), 70, 5);
    backend.start(random_matrix(70, 5, 1), random_matrix(70, 5, 2), output_with_gaps(70, 5, 2.0));
    backend->update_rows(0, system.problem(constraint));
    const auto before = backend.factor();
    const auto dual_before = backend.dual();
    backend.fill(random_matrix(70, 5, 3));
    backend->update_rows(0, system.problem(constraint));
    ASSERT_NE(backend.factor(), before);

    backend->restore_factor(0);

    EXPECT_EQ(backend.factor(), before);
    // HALS has left the dual alone, which then is either of two equal ones.
    if (constraint.needs_dual()) {
      EXPECT_EQ(backend.dual(), dual_before);
    }
    EXPECT_EQ(backend->take_factor(0), before);
  }
}

TEST_P(ConstrainedUpdateOf, ComputesTheSameWhetherItKeepsThePreviousFactorOrNot) {
  for (const int rank : {1, 8, 17}) {
    for (const RowConstraint& constraint : {nonnegative, on_simplex, sparse_box}) {
      const TestSystem system(rank, test_rho);
      std::vector<std::vector<double>> numbers;
      for (const bool keeps : {true, false}) {
        UpdatedRows backend(GetParam(), 300, rank, keeps);
        backend.start(nonnegative_matrix(300, rank, 1), {}, output_with_gaps(300, rank, 2.0));
        RowUpdate update;
        for (const std::uint64_t seed : {3, 4}) {
          update = backend->update_rows(0, system.problem(constraint, update.norms));
          backend.fill(random_matrix(300, rank, seed));
        }
        numbers.push_back(backend.factor());
        const auto dual = backend.dual();
        numbers.back().insert(numbers.back().end(), dual.begin(), dual.end());
        numbers.back().push_back(update.inner);
      }

      EXPECT_EQ(numbers[0], numbers[1]);
    }
  }
}

TEST_P(ConstrainedUpdateOf, KeepsDualsByBlocks) {
  UpdatedRows backend(GetParam(), 70, 3);
  auto rows = random_matrix(20, 3, 1);
  for (double& number : rows) number = static_cast<float>(number);

  backend->load_dual(0, 30, rows);

  std::vector<double> expected(210);
  std::ranges::copy(rows, expected.begin() + 90);
  EXPECT_EQ(backend.dual(), expected);
  std::vector<double> some(12);
  backend->store_dual(0, 29, some);
  EXPECT_EQ(some, std::vector<double>(expected.begin() + 87, expected.begin() + 99));
}

INSTANTIATE_TEST_SUITE_P(ConstrainedUpdate, ConstrainedUpdateOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
