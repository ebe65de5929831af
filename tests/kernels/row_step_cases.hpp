// A mode as CP-APR has it, and sizes and tolerances for tests of steps over all rows of a factor.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/loss_cases.hpp"
#include "tests/kernels/wide_rows.hpp"

namespace blco::testing {

// Counts in two modes, one nonzero in each row of the first, so that no sum of Phi depends on threads.
inline CooTensor one_count_per_row(std::uint64_t rows) {
  CooTensor tensor{{rows, 50}, {}, {}};
  for (std::uint64_t row = 0; row < rows; ++row) {
    tensor.coordinates.insert(tensor.coordinates.end(), {row, row * 7 % 50});
    tensor.values.push_back(10 * static_cast<double>(row % 4));
  }
  return tensor;
}

// B as APR has it, with zeros and numbers near zero, and Phi in the output of mode 0.
class ApproachedMode {
 public:
  ApproachedMode(const BackendCase& which, std::uint64_t rows, int rank)
      : columns_(static_cast<std::size_t>(rank)),
        tensor_(one_count_per_row(rows)),
        backend_(which, {.shape = tensor_.shape,
                         .rank = rank,
                         .all_outputs = false,
                         .vectors = {{rows}, {rows + 50, true}, {rows + 50, true}}}) {
    auto factors = positive_factors(tensor_.shape, rank, 6);
    for (std::size_t at = 2; at < factors[0].size(); at += 5) factors[0][at] = at % 2 == 0 ? 0 : 1e-4;
    for (std::size_t r = 0; r < columns_; ++r) weights_.push_back(r == 1 ? 0 : 0.5 + static_cast<double>(r));
    backend_.load(factors);
    backend_.pass(encode(tensor_, 1'000'000), {EntryFunction{.rule = EntryRule::ratio, .floor = 1e-10}, mode_bit(0)});
  }

  Backend* operator->() { return &*backend_; }
  std::vector<double> b() {
    std::vector<double> rows(static_cast<std::size_t>(tensor_.shape[0]) * columns_);
    backend_->store_factor(0, 0, rows);
    return rows;
  }
  std::vector<double> output() const { return backend_.output(0); }

  // With sums of held modes, the last of several being 0.
  AprStep step(bool has_held) {
    AprStep step{.weights = weights_, .kappa = 0.25, .kappa_tolerance = 1e-3, .tolerance = 0.125};
    if (!has_held) return step;
    for (std::size_t r = 0; r < columns_; ++r)
      held_sums_.push_back(r > 0 && r + 1 == columns_ ? 0 : 0.5 * static_cast<double>(r + 1));
    step.held_sums = held_sums_;
    return step;
  }

  // By definition, of the rows as they are now.
  std::vector<double> phi(const AprStep& step) const {
    std::vector<double> phi = output();
    for (std::size_t at = 0; at < phi.size() && !step.held_sums.empty(); ++at) {
      phi[at] = step.held_sums[at % columns_] > 0 ? phi[at] / step.held_sums[at % columns_] : 0;
    }
    return phi;
  }
  bool is_stuck_at(std::size_t at, double b, double phi) const {
    const double weight = weights_[at % columns_];
    return phi > 1.125 && (weight > 0 ? b / weight : b) < 1e-3;
  }
  double scale(std::size_t at) const { return weights_[at % columns_] > 0 ? weights_[at % columns_] : 1; }

 private:
  std::size_t columns_;
  CooTensor tensor_;
  LossBackend backend_;
  std::vector<double> weights_;
  std::vector<double> held_sums_;
};

class RowStepsTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  // Of a number of a factor.
  double exact() const {
    return GetParam().precision == Precision::f64 ? 1e-12 : GetParam().precision == Precision::f32 ? 1e-5 : 1e-7;
  }
  void expect_rows(const std::vector<double>& actual, const Wide& expected, const std::string& where) const {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t at = 0; at < actual.size(); ++at) {
      const auto wanted = static_cast<double>(expected[at]);
      ASSERT_NEAR(actual[at], wanted, exact() * (1 + std::abs(wanted))) << where << ", number " << at;
    }
  }

  // Calls visit(rows, rank) for sizes around words and slices of rows.
  template <class Visit>
  static void for_sizes(const Visit& visit) {
    for (const int rank : {1, 3, 8, 17}) {
      for (const std::uint64_t rows : {1, 64, 65, 1500}) visit(rows, rank);
    }
  }
};

}  // namespace blco::testing
