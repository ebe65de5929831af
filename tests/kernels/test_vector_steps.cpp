// Conjugate gradients and Adam over all rows of a factor, and the vectors beside it: every backend against loops in
// extended precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/row_step_cases.hpp"

namespace blco::testing {
namespace {

// Rows of mode 0 that minimise their squared errors over a few entries each, beside two modes that stay.
class SolvedMode {
 public:
  SolvedMode(const BackendCase& which, const CooTensor& tensor, int rank)
      : columns_(static_cast<std::size_t>(rank)),
        tensor_(tensor),
        chunks_(encode(tensor, 300)),
        factors_(which.held(positive_factors(tensor.shape, rank, 6))),
        backend_(which, {.shape = tensor.shape,
                         .rank = rank,
                         .all_outputs = false,
                         .vectors = {{tensor.shape[0]}, {tensor.shape[0]}}}) {
    backend_.load(factors_);
  }

  // Returns the sum of squares of the rows.
  double solve(const CgStep& step, int steps) {
    backend_.pass(chunks_, {EntryFunction{.rule = EntryRule::given, .scale = 0.5}, mode_bit(0)});
    backend_->cg_begin(0, step);
    for (; steps > 0; --steps) {
      backend_.pass(chunks_, {EntryFunction{.rule = EntryRule::model}, mode_bit(0)});
      backend_->cg_step(0, step);
    }
    return backend_->cg_end(0);
  }

  std::vector<double> rows() {
    std::vector<double> rows(static_cast<std::size_t>(tensor_.shape[0]) * columns_);
    backend_->store_factor(0, 0, rows);
    return rows;
  }
  std::vector<double> solution() {
    std::vector<double> rows(static_cast<std::size_t>(tensor_.shape[0]) * columns_);
    backend_->store_vector(0, 0, 0, rows);
    return rows;
  }

  // Half the gradient at `rows`, by the entries one after the other, and the size of what was added up.
  std::pair<Wide, Wide> slopes(const std::vector<double>& rows, const CgStep& step) const {
    Wide slopes(rows.size());
    Wide sizes(rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const long double centre = step.centre.empty() ? 0 : step.centre[at % columns_];
      slopes[at] = sizes[at] = step.ridge * (static_cast<long double>(rows[at]) - centre);
    }
    for (long double& size : sizes) size = std::abs(size);
    for (std::size_t i = 0; i < tensor_.nnz(); ++i) {
      const auto row = static_cast<std::size_t>(tensor_.coordinate(i, 0)) * columns_;
      Wide h(columns_, 1);
      long double model = 0;
      for (std::size_t r = 0; r < columns_; ++r) {
        for (std::size_t n = 1; n < tensor_.order(); ++n) {
          h[r] *= factors_[n][static_cast<std::size_t>(tensor_.coordinate(i, n)) * columns_ + r];
        }
        model += h[r] * static_cast<long double>(rows[row + r]);
      }
      for (std::size_t r = 0; r < columns_; ++r) {
        slopes[row + r] += (model - tensor_.values[i]) * h[r];
        sizes[row + r] += (std::abs(model) + std::abs(tensor_.values[i])) * h[r];
      }
    }
    return {slopes, sizes};
  }

 private:
  std::size_t columns_;
  CooTensor tensor_;
  std::vector<EncodedChunk> chunks_;
  std::vector<std::vector<double>> factors_;
  LossBackend backend_;
};

class VectorStepsOf : public RowStepsTest {};

// No slope is left, or where rows are nonnegative, none but those that would lead a zero below zero.
TEST_P(VectorStepsOf, SolveRowsByConjugateGradients) {
  const bool is_f64 = GetParam().precision == Precision::f64;
  for (const std::uint64_t rows : {1, 65, 300}) {
    const CooTensor tensor = random_tensor({.shape = {rows, 40, 5}, .nnz = 6 * rows, .seed = rows});
    for (const int rank : {1, 3, 6}) {
      for (const bool nonnegative : {false, true}) {
        SolvedMode mode(GetParam(), tensor, rank);
        // Rows of three columns are drawn to another one than zeros.
        const std::vector<double> centre = rank == 3 ? std::vector<double>{0.5, -0.25, 2} : std::vector<double>();
        const CgStep step{.ridge = 0.5,
                          .centre = centre,
                          .nonnegative = nonnegative,
                          .least_cosine = is_f64 ? 1e-3 : 1e-2,
                          .solved = is_f64 ? 1e-10 : 1e-5};

        const double squares = mode.solve(step, 25 * rank);

        const auto [slopes, sizes] = mode.slopes(mode.rows(), step);
        const auto a = mode.rows();
        long double sum = 0;
        for (const double number : mode.solution()) sum += static_cast<long double>(number) * number;
        EXPECT_NEAR(squares, static_cast<double>(sum), 1e-13 * static_cast<double>(sum));
        for (std::size_t at = 0; at < a.size(); ++at) {
          const auto slope = static_cast<double>(slopes[at]);
          const double least = (is_f64 ? 1e-8 : 1e-4) * (1 + static_cast<double>(sizes[at]));
          ASSERT_TRUE(!nonnegative || a[at] >= 0);
          if (nonnegative && a[at] == 0) {
            ASSERT_GE(slope, -least) << rows << " rows, rank " << rank << ", number " << at;
          } else {
            ASSERT_NEAR(slope, 0, least) << rows << " rows, rank " << rank << ", number " << at;
          }
        }
      }
    }
  }
}

// One entry cannot tell columns apart: its row goes straight to a model without error, and stays there.
TEST_P(VectorStepsOf, LeaveRowsAloneThatAreSolvedButForRounding) {
  const CooTensor tensor = one_count_per_row(200);
  SolvedMode mode(GetParam(), tensor, 5);

  mode.solve({.least_cosine = 1e-2, .solved = 1e-5}, 30);

  const auto rows = mode.rows();
  const auto [slopes, sizes] = mode.slopes(rows, {});
  for (std::size_t at = 0; at < rows.size(); ++at) {
    ASSERT_NEAR(static_cast<double>(slopes[at]), 0, 1e-4 * (1 + static_cast<double>(sizes[at])));
    ASSERT_LT(std::abs(rows[at]), 100);
  }
}

TEST_P(VectorStepsOf, MoveTouchedRowsByTheirMoments) {
  for_sizes([&](std::uint64_t rows, int rank) {
    for (const bool nonnegative : {false, true}) {
      ApproachedMode mode(GetParam(), rows, rank);
      const auto n = static_cast<std::size_t>(rank);
      const std::vector<double> rates = random_matrix(1, rank, 4);
      const AdamStep step{.rates = rates,
                          .first_decay = 0.75,
                          .second_decay = 0.875,
                          .first_share = 0.5,
                          .second_share = 0.25,
                          .epsilon = 0.125,
                          .nonnegative = nonnegative};
      const auto before = mode.b();
      const auto gradient = mode.output();
      std::vector<double> firsts = random_matrix(rows, rank, 7);
      std::vector<double> seconds = random_matrix(rows, rank, 8);
      for (double& number : seconds) number = std::abs(number);
      mode->load_vector(1, 0, 0, seconds);
      mode->load_vector(0, 0, 0, firsts);

      mode->adam_step(0, step);

      Wide expected(before.begin(), before.end());
      Wide wide_firsts(firsts.begin(), firsts.end());
      Wide wide_seconds(seconds.begin(), seconds.end());
      for (std::size_t at = 0; at < before.size(); ++at) {
        const auto* row = &gradient[at / n * n];
        if (std::all_of(row, row + n, [](double slope) { return slope == 0; })) continue;
        const auto slope = static_cast<long double>(gradient[at]);
        wide_firsts[at] = 0.75L * wide_firsts[at] + 0.25L * slope;
        wide_seconds[at] = 0.875L * wide_seconds[at] + 0.125L * slope * slope;
        expected[at] -= rates[at % n] * (wide_firsts[at] / 0.5L) / (std::sqrt(wide_seconds[at] / 0.25L) + 0.125L);
        if (nonnegative && expected[at] < 0) expected[at] = 0;
      }
      const std::string where = std::to_string(rows) + " rows, rank " + std::to_string(rank);
      expect_rows(mode.b(), expected, where);
      mode->store_vector(0, 0, 0, firsts);
      mode->store_vector(1, 0, 0, seconds);
      expect_rows(firsts, wide_firsts, where);
      expect_rows(seconds, wide_seconds, where);
      EXPECT_EQ(mode.output(), gradient) << "the output stays";
      const Wide gram = gram_of(mode.b(), n);
      for (std::size_t i = 0; i < n * n; ++i) {
        ASSERT_NEAR(mode->gram(0)[i], static_cast<double>(gram[i]),
                    1e-10 * (1 + std::abs(static_cast<double>(gram[i]))));
      }
    }
  });
}

TEST_P(VectorStepsOf, GoAheadOnTheLineFromAVector) {
  for_sizes([&](std::uint64_t rows, int rank) {
    for (const bool nonnegative : {false, true}) {
      ApproachedMode mode(GetParam(), rows, rank);
      const std::vector<double> of_factor = random_matrix(1, rank, 4);
      const std::vector<double> of_vector = random_matrix(1, rank, 5);
      const auto before = mode.b();
      std::vector<double> vector = random_matrix(rows, rank, 7);
      Wide expected;
      Wide squares(of_factor.size());
      for (std::size_t at = 0; at < before.size(); ++at) {
        const std::size_t r = at % of_factor.size();
        const long double ahead =
            static_cast<long double>(before[at]) * of_factor[r] - static_cast<long double>(vector[at]) * of_vector[r];
        expected.push_back(nonnegative && ahead < 0 ? 0 : ahead);
        squares[r] += expected.back() * expected.back();
      }
      mode->load_vector(1, 0, 0, vector);

      const std::vector<double> found = mode->extrapolate(0, 1, {of_factor, of_vector, nonnegative});

      const std::string where = std::to_string(rows) + " rows, rank " + std::to_string(rank);
      expect_rows(mode.b(), expected, where);
      mode->store_vector(1, 0, 0, vector);
      EXPECT_EQ(vector, std::vector<double>(before.begin(), before.end())) << where;
      const double rounding = GetParam().precision == Precision::f64 ? 1e-12 : 1e-6;
      const Wide gram = gram_of(mode.b(), of_factor.size());
      for (std::size_t r = 0; r < squares.size(); ++r) {
        const auto square = static_cast<double>(squares[r]);
        ASSERT_NEAR(found[r], square, rounding * (1 + square)) << where;
        ASSERT_NEAR(mode->gram(0)[r * (squares.size() + 1)], square, rounding * (1 + square)) << where;
      }
    }
  });
}

TEST_P(VectorStepsOf, KeepVectorsBesideFactors) {
  for_sizes([&](std::uint64_t rows, int rank) {
    ApproachedMode mode(GetParam(), rows, rank);
    const auto first = mode.b();
    const auto scales = random_matrix(1, rank, 3);
    std::vector<double> stored(50 * static_cast<std::size_t>(rank), 1.0);
    const std::vector<double> zeros(stored.size());
    std::vector<double> second(stored.size());
    mode->store_factor(1, 0, second);

    mode->store_vector(1, 1, 0, stored);
    EXPECT_EQ(stored, zeros);
    mode->copy_to_vector(0, 0);
    mode->copy_to_vector(0, 1);
    mode->copy_to_vector(1, 1);
    mode->copy_vector(1, 2);
    mode->load_vector(1, 1, 0, zeros);
    mode->scale_columns(0, scales);
    mode->scale_columns(1, scales);
    mode->copy_from_vector(1, 2);

    mode->store_factor(1, 0, stored);
    EXPECT_EQ(stored, second);
    EXPECT_NE(mode.b(), first);
    for (const int vector : {0, 2}) {
      mode->scale_columns(0, scales);
      mode->copy_from_vector(0, vector);
      EXPECT_EQ(mode.b(), first);
    }
    const auto n = static_cast<std::size_t>(rank);
    const Wide gram = gram_of(first, n);
    for (std::size_t i = 0; i < n * n; ++i) ASSERT_NEAR(mode->gram(0)[i], static_cast<double>(gram[i]), 1e-9);
    std::vector<double> third(n);
    mode->store_vector(2, 1, 3, third);
    EXPECT_EQ(third, std::vector<double>(second.begin() + 3 * rank, second.begin() + 4 * rank));
  });
}

TEST_P(VectorStepsOf, RefuseVectorsThatAreNotThere) {
  ApproachedMode mode(GetParam(), 20, 3);
  std::vector<double> row(3);
  EXPECT_THROW(mode->copy_to_vector(0, 3), Error);
  EXPECT_THROW(mode->copy_to_vector(0, -1), Error);
  EXPECT_THROW(mode->copy_to_vector(1, 0), Error) << "as long as mode 0";
  EXPECT_THROW(mode->copy_vector(0, 1), Error);
  EXPECT_THROW(mode->store_vector(0, 0, 20, row), Error);
  EXPECT_THROW(mode->cg_begin(1, {}), Error) << "the pass has not filled that output";
  EXPECT_THROW(mode->adam_step(0, {}), Error);
  EXPECT_THROW(mode->extrapolate(0, 1, {row, {}}), Error);
  EXPECT_THROW(mode->extrapolate(0, 3, {row, row}), Error);
}

INSTANTIATE_TEST_SUITE_P(VectorSteps, VectorStepsOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

TEST(HostBackendVectorSteps, DoNotDependOnTheNumberOfThreads) {
  constexpr std::uint64_t rows = 3001;
  const std::vector<double> rates(7, 0.25);
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    std::vector<std::vector<double>> first;
    for (const int threads : {1, 2, 3, 5}) {
      ApproachedMode moved({threads, precision}, rows, 7);
      SolvedMode solved({threads, precision}, one_count_per_row(rows), 7);

      moved->adam_step(0, {.rates = rates, .first_share = 0.5, .second_share = 0.5, .epsilon = 1});
      const std::vector<double> ahead = moved->extrapolate(0, 1, {rates, rates});
      const double squares = solved.solve({.ridge = 0.5, .nonnegative = true}, 3);

      const std::vector<std::vector<double>> results{moved.b(), ahead, {squares}, solved.rows()};
      if (first.empty()) first = results;
      EXPECT_EQ(results, first) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace blco::testing
