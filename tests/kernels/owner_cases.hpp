// Backends that own parts of a mode, beside one that owns all of it: every step leaves both with the same numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "kernels/backend.hpp"
#include "tests/kernels/constrained_rows.hpp"

namespace blco::testing {

// Several backends as one: each takes every step, and their sums are added up.
class Owners final : public Steps {
 public:
  explicit Owners(std::vector<std::unique_ptr<Backend>> owners) : owners_(std::move(owners)) {}
  Backend& operator[](std::size_t owner) { return *owners_[owner]; }

  void own(std::vector<OwnedRows>) override {}
  SolvedRows solve_rows(int mode, const RowProblem& problem) override {
    SolvedRows sum;
    sum.squares = add_up([&](Backend& owner) {
      SolvedRows solved = owner.solve_rows(mode, problem);
      sum.inner += solved.inner;
      return solved.squares;
    });
    return sum;
  }
  void scale_rows(int mode, std::span<const double> divisors) override {
    for (const auto& owner : owners_) owner->scale_rows(mode, divisors);
  }
  void restore_factor(int mode) override {
    for (const auto& owner : owners_) owner->restore_factor(mode);
  }
  std::span<const double> gram(int mode) override {
    gram_ = add_up([&](Backend& owner) {
      const std::span<const double> gram = owner.gram(mode);
      return std::vector<double>(gram.begin(), gram.end());
    });
    return gram_;
  }
  std::vector<double> column_sums(int mode) override {
    return add_up([&](Backend& owner) { return owner.column_sums(mode); });
  }
  void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) override {
    for (const auto& owner : owners_) owner->scale_columns(mode, scales, shifts);
  }
  void raise_to_zero(int mode) override {
    for (const auto& owner : owners_) owner->raise_to_zero(mode);
  }
  std::vector<double> extrapolate(int mode, int vector, const Extrapolation& step) override {
    return add_up([&](Backend& owner) { return owner.extrapolate(mode, vector, step); });
  }
  AprViolation apr_measure(int mode, const AprStep& step, bool until_any) override {
    AprViolation violation;
    for (const auto& owner : owners_) {
      const AprViolation found = owner->apr_measure(mode, step, until_any);
      violation.largest = std::max(violation.largest, found.largest);
      violation.has_stuck_zeros = violation.has_stuck_zeros || found.has_stuck_zeros;
    }
    return violation;
  }
  void apr_free_zeros(int mode, const AprStep& step) override {
    for (const auto& owner : owners_) owner->apr_free_zeros(mode, step);
  }
  void apr_multiply(int mode, const AprStep& step) override {
    for (const auto& owner : owners_) owner->apr_multiply(mode, step);
  }
  void cg_begin(int mode, const CgStep& step) override {
    for (const auto& owner : owners_) owner->cg_begin(mode, step);
  }
  void cg_step(int mode, const CgStep& step) override {
    for (const auto& owner : owners_) owner->cg_step(mode, step);
  }
  double cg_end(int mode) override {
    return add_up([&](Backend& owner) { return std::vector<double>{owner.cg_end(mode)}; }).front();
  }
  void adam_step(int mode, const AdamStep& step) override {
    for (const auto& owner : owners_) owner->adam_step(mode, step);
  }

 private:
  template <class Take>
  std::vector<double> add_up(const Take& take) {
    std::vector<double> sums;
    for (const auto& owner : owners_) {
      const std::vector<double> more = take(*owner);
      sums.resize(more.size());
      for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
    }
    return sums;
  }

  std::vector<std::unique_ptr<Backend>> owners_;
  std::vector<double> gram_;
};

// Of mode 0: three words of rows, and a part of one.
inline constexpr std::uint64_t owned_length = 210;
// The lengths of both modes.
inline const std::vector<std::uint64_t> owned_shape{owned_length, 40};

inline BackendConfig owned_config(int rank, Precision precision) {
  return {.layout = TensorLayout(owned_shape),
          .rank = rank,
          .precision = precision,
          .dual_modes = mode_bit(0),
          .vectors = {{owned_length}, {owned_length}}};
}

// What a step may change.
enum class Changes { owned_rows, all_rows };

class SharedMode {
 public:
  using Make = std::function<std::unique_ptr<Backend>()>;

  // make() makes a backend with owned_config.
  SharedMode(const Make& make, std::vector<OwnedRows> split, int rank)
      : split_(std::move(split)), rank_(rank), whole_(make()), owners_(make_owners(make)) {}

  // Gives all backends the same numbers, takes a step, and compares the sums that it returns, all rows, and Grams.
  // `tolerance`: of a number of a row, relative to what is larger, the number or 1.
  void expect_same(const std::string& what, Changes changes, double tolerance,
                   const std::function<std::vector<double>(Steps&)>& step) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, what + ", rank " + std::to_string(rank_));
    start(*whole_);
    for (std::size_t i = 0; i < split_.size(); ++i) start(owners_[i]);
    const auto before = rows_of(*whole_);

    expect_near(step(owners_), step(*whole_), 1e-11);

    const auto after = rows_of(*whole_);
    for (std::size_t i = 0; i < split_.size(); ++i) {
      const OwnedRows rows = changes == Changes::all_rows ? OwnedRows{0, owned_length} : split_[i];
      const auto first = static_cast<std::ptrdiff_t>(rows.begin) * rank_;
      const auto end = static_cast<std::ptrdiff_t>(rows.end) * rank_;
      const auto actual = rows_of(owners_[i]);
      for (std::size_t matrix = 0; matrix < actual.size(); ++matrix) {
        std::vector<double> expected = before[matrix];
        std::copy(after[matrix].begin() + first, after[matrix].begin() + end, expected.begin() + first);
        expect_near(actual[matrix], expected, tolerance);
      }
    }
    const auto gram = whole_->gram(0);
    const auto sum = owners_.gram(0);
    expect_near({sum.begin(), sum.end()}, {gram.begin(), gram.end()}, tolerance * owned_length + 1e-11);
  }

 private:
  Owners make_owners(const Make& make) const {
    std::vector<std::unique_ptr<Backend>> owners;
    for (const OwnedRows& rows : split_) {
      // One worker has all rows of the short mode.
      const OwnedRows short_rows{owners.empty() ? 0 : owned_shape[1], owned_shape[1]};
      owners.push_back(make());
      owners.back()->own({rows, short_rows});
    }
    return Owners(std::move(owners));
  }

  // Rows go in and out whoever owns them.
  void start(Backend& backend) const {
    backend.load_vector(0, 0, 0, nonnegative_matrix(owned_length, rank_, 1));
    backend.copy_from_vector(0, 0);
    backend.copy_to_vector(0, 1);
    backend.load_vector(0, 0, 0, random_matrix(owned_length, rank_, 2));
    backend.load_dual(0, 0, random_matrix(owned_length, rank_, 3));
    backend.begin_pass(0);
    backend.finish_pass();
    const auto output = output_with_gaps(owned_length, rank_, 3.0);
    std::vector<double> empty(output.size(), 1.0);
    backend.read_output(0, 0, empty);
    ASSERT_EQ(empty, std::vector<double>(output.size())) << "what a row update has left";
    backend.load_output(0, 0, output);
  }
  std::vector<std::vector<double>> rows_of(const Backend& backend) const {
    const std::size_t count = static_cast<std::size_t>(owned_length) * static_cast<std::size_t>(rank_);
    std::vector<std::vector<double>> rows(4, std::vector<double>(count));
    backend.store_factor(0, 0, rows[0]);
    backend.store_dual(0, 0, rows[1]);
    backend.store_vector(0, 0, 0, rows[2]);
    backend.store_vector(1, 0, 0, rows[3]);
    return rows;
  }
  static void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "number " << i;
    }
  }

  std::vector<OwnedRows> split_;
  int rank_;
  std::unique_ptr<Backend> whole_;
  Owners owners_;
};

// At the ends of words, with a ragged end alone, with an owner of nothing, and with one of all.
inline const std::vector<std::vector<OwnedRows>> owned_splits{
    {{0, 64}, {64, 210}},           {{0, 193}, {193, 210}},     {{0, 100}, {100, 100}, {100, 210}},
    {{0, 0}, {0, 191}, {191, 210}}, {{0, 3}, {3, 5}, {5, 210}}, {{0, 210}, {210, 210}}};

// `scaled` and `exact`: the tolerance of rows that are divided by sums, and of all others.
inline void expect_updates_of_owners(SharedMode& mode, int rank, double scaled, double exact) {
  const std::vector<double> weights = nonnegative_matrix(1, rank, 6);
  std::vector<double> divisors;
  for (int r = 0; r < rank; ++r) divisors.push_back(r == 1 ? 0 : 0.3 + r);
  for (const RowConstraint& constraint : {RowConstraint{}, nonnegative, unit_box, on_simplex}) {
    const TestSystem system(rank, constraint.needs_dual() ? test_rho : 0.0);
    const RowProblem problem = system.problem(constraint, weights);
    const std::string set = to_string(constraint);
    mode.expect_same("two halves: " + set, Changes::owned_rows, exact, [&](Steps& steps) {
      SolvedRows sums = steps.solve_rows(0, problem);
      if (!constraint.normalises()) sums.squares.clear();
      steps.scale_rows(0, constraint.normalises() ? std::span<const double>(divisors) : std::span<const double>());
      sums.squares.push_back(sums.inner);
      return sums.squares;
    });
    mode.expect_same("update: " + set, Changes::owned_rows, scaled, [&](Steps& steps) {
      RowUpdate update = steps.update_rows(0, problem);
      update.norms.push_back(update.inner);
      return update.norms;
    });
  }
}

// Rows in no order, those at the ends among them, of small whole numbers, which every precision has.
inline void expect_scattered_rows(Backend& backend, int rank) {
  const auto columns = static_cast<std::size_t>(rank);
  std::vector<double> all(owned_length * columns);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i % 509) - 200;
  backend.begin_pass(0);
  backend.finish_pass();
  backend.load_output(0, 0, all);
  backend.load_factor(0, 0, all);
  const std::vector<std::uint32_t> listed{17, 209, 0, 64, 63, 100};
  std::vector<double> wanted;
  for (const std::uint32_t row : listed) {
    const auto numbers = std::span(all).subspan(row * columns, columns);
    wanted.insert(wanted.end(), numbers.begin(), numbers.end());
  }
  std::vector<double> found(wanted.size());
  backend.read_output_rows(0, listed, found);
  EXPECT_EQ(found, wanted);
  found.assign(found.size(), 0.0);
  backend.store_rows(0, listed, found);
  EXPECT_EQ(found, wanted);

  const std::vector<double> gram(backend.gram(0).begin(), backend.gram(0).end());
  std::vector<double> added(wanted.size());
  for (std::size_t i = 0; i < added.size(); ++i) added[i] = 1000.0 + static_cast<double>(i);
  backend.add_output_rows(0, listed, added);
  backend.load_rows(0, listed, added);
  std::vector<double> output = all;
  std::vector<double> factor = all;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::size_t at = listed[i / columns] * columns + i % columns;
    output[at] += added[i];
    factor[at] = added[i];
  }
  found.resize(all.size());
  backend.read_output(0, 0, found);
  EXPECT_EQ(found, output);
  backend.store_factor(0, 0, found);
  EXPECT_EQ(found, factor);
  EXPECT_GT(backend.gram(0)[0], gram[0]);

  const std::vector<std::uint32_t> beyond{static_cast<std::uint32_t>(owned_length)};
  EXPECT_THROW(backend.read_output_rows(0, beyond, std::span(found).first(columns)), Error);
  EXPECT_THROW(backend.add_output_rows(0, beyond, std::span(added).first(columns)), Error);
}

inline void expect_steps_of_owners(SharedMode& mode, int rank, double exact) {
  const std::vector<double> none;
  const std::vector<double> eighths(static_cast<std::size_t>(rank), 0.125);
  std::vector<double> numbers;
  for (int r = 0; r < rank; ++r) numbers.push_back(0.25 * (1 + r % 4));
  const AprStep apr{
      .weights = numbers, .held_sums = numbers, .kappa = 0.25, .kappa_tolerance = 1e-3, .tolerance = 0.125};
  const CgStep cg{.ridge = 8, .centre = numbers, .nonnegative = true, .least_cosine = 1e-2, .solved = 1e-5};
  const AdamStep adam{.rates = numbers, .first_decay = 0.75, .second_decay = 0.5, .epsilon = 1};

  mode.expect_same("column_sums", Changes::owned_rows, exact, [](Steps& steps) { return steps.column_sums(0); });
  mode.expect_same("scale_columns", Changes::all_rows, exact, [&](Steps& steps) {
    steps.scale_columns(0, numbers, numbers);
    return none;
  });
  mode.expect_same("raise_to_zero", Changes::all_rows, exact, [&](Steps& steps) {
    steps.scale_columns(0, std::vector<double>(numbers.size(), -1.0), numbers);
    steps.raise_to_zero(0);
    return none;
  });
  mode.expect_same("extrapolate", Changes::all_rows, exact, [&](Steps& steps) {
    return steps.extrapolate(0, 1, {numbers, eighths});
  });
  for (const bool until_any : {false, true}) {
    mode.expect_same("apr_measure", Changes::owned_rows, exact, [&](Steps& steps) {
      const AprViolation found = steps.apr_measure(0, apr, until_any);
      EXPECT_NE(found.has_stuck_zeros, until_any);
      EXPECT_GE(found.largest, apr.tolerance);
      return until_any ? none : std::vector<double>{found.largest};
    });
  }
  mode.expect_same("apr_free_zeros", Changes::owned_rows, exact, [&](Steps& steps) {
    steps.apr_free_zeros(0, apr);
    return none;
  });
  mode.expect_same("apr_multiply", Changes::owned_rows, exact, [&](Steps& steps) {
    steps.apr_multiply(0, apr);
    return none;
  });
  mode.expect_same("cg_step", Changes::owned_rows, exact, [&](Steps& steps) {
    steps.cg_begin(0, cg);
    steps.cg_step(0, cg);
    return none;
  });
  mode.expect_same("cg_end", Changes::owned_rows, exact,
                   [](Steps& steps) { return std::vector<double>{steps.cg_end(0)}; });
  mode.expect_same("adam_step", Changes::owned_rows, exact, [&](Steps& steps) {
    steps.adam_step(0, adam);
    return none;
  });
}

// Of backends that keep factors as they were: no number has changed in the end, owned or not.
inline void expect_undone_updates_of_owners(SharedMode& mode, int rank) {
  const TestSystem system(rank, test_rho);
  mode.expect_same("restore_factor", Changes::owned_rows, 0, [&](Steps& steps) {
    steps.update_rows(0, system.problem(on_simplex));
    steps.restore_factor(0);
    return std::vector<double>();
  });
}

}  // namespace blco::testing
