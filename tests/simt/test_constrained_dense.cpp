// HALS and ADMM on the device, slab by slab and in the backend, against the serial reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/kernels/reference_rows.hpp"
#include "tests/random_tensor.hpp"
#include "tests/simt/dense_update.hpp"
#include "tests/simt/device_array.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

constexpr RowConstraint nonnegative_rows{.set = RowSet::nonnegative};
constexpr RowConstraint sparse_nonnegative_rows{.set = RowSet::nonnegative, .l1 = 0.4};
constexpr RowConstraint simplex_rows{.set = RowSet::simplex};
constexpr RowConstraint sparse_rows{.l1 = 0.4};
constexpr RowConstraint sparse_box_rows{.set = RowSet::box, .lower = -0.3, .upper = 0.5, .l1 = 0.2};
constexpr RowConstraint all_constraints[] = {nonnegative_rows, sparse_nonnegative_rows, simplex_rows, sparse_rows,
                                             sparse_box_rows};
constexpr double device_rho = 1.5;

// V is the identity times the rank, and some more; the solver holds V + rho I where ADMM needs that.
struct DeviceSystem {
  DeviceSystem(int rank, const RowConstraint& constraint)
      : DeviceSystem(system_of(rank, 0), system_of(rank, constraint.needs_dual() ? device_rho : 0), rank, constraint) {}
  DeviceSystem(std::vector<double> system, const std::vector<double>& factored, int rank,
               const RowConstraint& constraint)
      : v(std::move(system)), solver(factored, rank) {
    for (int r = 0; r < rank; ++r) weights.push_back(0.5 + r % 3);
    problem.system = v;
    problem.weights = weights;
    problem.constraint = constraint;
    problem.rho = device_rho;
  }

  static std::vector<double> system_of(int rank, double shift) {
    const auto n = static_cast<std::size_t>(rank);
    std::vector<double> made = random_matrix(n, rank, 3);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < j; ++k) made[j * n + k] = made[k * n + j];
      made[j * n + j] += 1.5 * static_cast<double>(rank) + shift;
    }
    return made;
  }

  std::vector<double> v;
  std::vector<double> weights;
  RowSolver solver;
  RowProblem problem{solver};
};

// Every third row is zero.
template <class Real>
std::vector<Real> rows_with_gaps(std::uint64_t rows, int rank, std::uint64_t seed) {
  const auto numbers = random_matrix(rows, rank, seed);
  std::vector<Real> made(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = i / static_cast<std::size_t>(rank) % 3 == 1 ? Real{0} : made[i] * static_cast<Real>(rank);
  }
  return made;
}

template <class Real>
std::vector<Real> held_as(const std::vector<double>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// Numbers of about 1, rounded once or twice where they are narrow.
template <class Factor>
constexpr double near_by = sizeof(Factor) == sizeof(double) ? 1e-12 : 1e-6;

// `in_place`: old and new numbers share memory.
template <class Sum, class Factor>
void expect_rows_of_the_reference(const DeviceSystem& system, int rank, std::uint64_t rows, bool in_place) {
  const RowConstraint& constraint = system.problem.constraint;
  const auto n = static_cast<std::size_t>(rank);
  const auto output = rows_with_gaps<Sum>(rows, rank, 5);
  const auto old = held_as<Factor>(random_matrix(rows, rank, 6));
  const auto old_dual = held_as<Factor>(random_matrix(rows, rank, 7));
  const cuda::DenseSizes sizes(rows + 5, rank, sizeof(Sum), sizeof(Factor), /*duals=*/true, 70 * n);
  const DeviceArray<std::byte> scratch(static_cast<std::size_t>(sizes.bytes));
  cuda::StagedTransfer transfer;
  cuda::Stream stream;
  cuda::DenseWork work(sizes, scratch.data(), stream, transfer);
  const DeviceArray<Sum> given(output, stream);
  const DeviceArray<Factor> old_rows(old, stream);
  const DeviceArray<Factor> duals(old_dual, stream);
  const DeviceArray<Factor> other(old.size());
  const DeviceArray<Factor> other_dual(old.size());
  const DeviceArray<Factor>& made = in_place ? old_rows : other;
  const DeviceArray<Factor>& made_dual = in_place ? duals : other_dual;
  std::vector<double> gram;

  const RowUpdate update = update_rows<Sum, Factor>(
      work, given.data(), rows, system.problem, {old_rows.data(), duals.data(), made_dual.data()}, made.data(), gram);

  std::vector<double> expected(old.begin(), old.end());
  std::vector<double> dual(old_dual.begin(), old_dual.end());
  std::vector<double> squares(n);
  double inner = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= system.weights[i % n];
  for (std::size_t start = 0; start < expected.size(); start += n) {
    const std::vector<double> m(output.begin() + static_cast<std::ptrdiff_t>(start),
                                output.begin() + static_cast<std::ptrdiff_t>(start + n));
    const auto row = std::span(expected).subspan(start, n);
    if (constraint.needs_dual()) {
      admm_row(system.problem, m, row, std::span(dual).subspan(start, n));
    } else {
      hals_row(system.problem, m, row);
    }
    for (std::size_t r = 0; r < n; ++r) squares[r] += row[r] * row[r];
    for (std::size_t r = 0; r < n; ++r) inner += row[r] * m[r];
  }
  const std::string where = "rank " + std::to_string(rank) + ", " + std::to_string(rows) + " rows";
  const auto actual = made.download(stream);
  const auto actual_dual = made_dual.download(stream);
  EXPECT_NEAR(update.inner, inner, 1e-12 * static_cast<double>(rows * n)) << where;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double norm = constraint.normalises() ? std::sqrt(squares[i % n]) : 1.0;
    ASSERT_NEAR(update.norms[i % n], norm, 1e-12 * norm) << where;
    const double number = norm > 0 ? expected[i] / norm : 1 / std::sqrt(static_cast<double>(rows));
    ASSERT_NEAR(actual[i], number, near_by<Factor>) << where;
    if (constraint.needs_dual()) {
      ASSERT_NEAR(actual_dual[i], dual[i], near_by<Factor>) << where;
    }
  }
  if (gram.empty()) gram = work.gram<Factor>(made.data(), rows);
  for (std::size_t j = 0; j < n * n; ++j) {
    double sum = 0;
    for (std::size_t start = 0; start < actual.size(); start += n) {
      sum += static_cast<double>(actual[start + j / n]) * static_cast<double>(actual[start + j % n]);
    }
    ASSERT_NEAR(gram[j], sum, 1e-13 * static_cast<double>(rows)) << where;
  }
}

template <class Sum, class Factor>
void expect_rows_of_the_reference(const RowConstraint& constraint, int rank, std::uint64_t rows, bool in_place) {
  expect_rows_of_the_reference<Sum, Factor>(DeviceSystem(rank, constraint), rank, rows, in_place);
}

class EveryConstrainedOrder : public ::testing::TestWithParam<simt::Order> {
 protected:
  EveryConstrainedOrder() {
    simt::reset();
    simt::set_order(GetParam());
  }
};

TEST_P(EveryConstrainedOrder, RowsAreThoseOfTheReference) {
  for (const RowConstraint& constraint : all_constraints) {
    expect_rows_of_the_reference<double, double>(constraint, 1, 1, true);
    expect_rows_of_the_reference<double, double>(constraint, 7, 69, false);
    expect_rows_of_the_reference<double, float>(constraint, 7, 70, true);
    expect_rows_of_the_reference<float, float>(constraint, 7, 33, false);
    expect_rows_of_the_reference<double, double>(constraint, 33, 10, true);
  }
}

TEST_P(EveryConstrainedOrder, SlabsAreJoined) {
  for (const RowConstraint& constraint : {nonnegative_rows, simplex_rows}) {
    expect_rows_of_the_reference<double, double>(constraint, 7, 151, true);
    expect_rows_of_the_reference<double, double>(constraint, 3, 71, false);
    expect_rows_of_the_reference<double, float>(constraint, 3, 140, false);
    expect_rows_of_the_reference<float, float>(constraint, 3, 141, true);
  }
}

TEST_P(EveryConstrainedOrder, RowsTooLongForSharedMemoryAreUpdatedInPlace) {
  // 192 columns of 32 rows are 48 KiB.
  for (const int rank : {192, 193}) expect_rows_of_the_reference<double, double>(nonnegative_rows, rank, 33, true);
}

TEST_P(EveryConstrainedOrder, SingularSystemsTakeThePseudoInverse) {
  const std::vector<double> ones(9, 1.0);
  for (const RowConstraint& constraint : {simplex_rows, sparse_box_rows}) {
    const DeviceSystem system(ones, ones, 3, constraint);
    ASSERT_FALSE(system.solver.is_cholesky());

    expect_rows_of_the_reference<double, double>(system, 3, 75, true);
    expect_rows_of_the_reference<float, float>(system, 3, 75, false);
  }
}

TEST_P(EveryConstrainedOrder, DeadColumnsOfHalsComeBack) {
  constexpr std::uint64_t rows = 90;
  const std::vector<double> identity{1, 0, 0, 1};
  const RowSolver solver(identity, 2);
  RowProblem problem(solver);
  problem.system = identity;
  problem.constraint = nonnegative_rows;
  std::vector<double> output = random_matrix(rows, 2, 3);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = i % 2 == 0 ? std::abs(output[i]) : -std::abs(output[i]);
  const cuda::DenseSizes sizes(rows, 2, sizeof(double), sizeof(double));
  const DeviceArray<std::byte> scratch(static_cast<std::size_t>(sizes.bytes));
  cuda::StagedTransfer transfer;
  cuda::Stream stream;
  cuda::DenseWork work(sizes, scratch.data(), stream, transfer);
  const DeviceArray<double> given(output, stream);
  const DeviceArray<double> factor(random_matrix(rows, 2, 4), stream);
  std::vector<double> gram;

  const RowUpdate update =
      update_rows<double, double>(work, given.data(), rows, problem, {factor.data()}, factor.data(), gram);

  EXPECT_EQ(update.norms[1], 0.0);
  const auto actual = factor.download(stream);
  for (std::size_t row = 0; row < rows; ++row) EXPECT_NEAR(actual[2 * row + 1], 1 / std::sqrt(90.0), 1e-15);
  EXPECT_TRUE(gram.empty());
}

INSTANTIATE_TEST_SUITE_P(ConstrainedDense, EveryConstrainedOrder,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled),
                         [](const auto& which) { return name_of(which.param); });

class ConstrainedBackendOf : public ::testing::TestWithParam<Precision> {};

// Sweeps of updates, each from the rows, norms and duals that the last one left.
TEST_P(ConstrainedBackendOf, UpdatesRowsAsTheReferenceDoes) {
  simt::reset();
  const auto tensor = random_tensor({.shape = {40, 3, 57}, .nnz = 800, .seed = 2, .values = Values::counts});
  const auto chunks = encode(tensor, 300);
  for (const RowConstraint& constraint : all_constraints) {
    const DeviceSystem system(5, constraint);
    const EmulatedOptions options{.rank = 5, .precision = GetParam(), .dual_modes = all_modes(3)};
    EmulatedBackend device(tensor.shape, options);
    const auto reference = make_reference_backend(emulated_config(tensor.shape, options));
    std::vector<std::vector<double>> factors = random_factors(tensor.shape, 5, 11);
    for (std::vector<double>& factor : factors) {
      for (double& number : factor) number = static_cast<float>(number);
    }
    device.load(factors);
    for (int mode = 0; mode < 3; ++mode) reference->load_factor(mode, 0, factors[static_cast<std::size_t>(mode)]);

    for (const int mode : {0, 2, 0}) {
      device.pass(chunks, mode);
      reference->begin_pass(mode);
      for (const EncodedChunk& chunk : chunks) reference->submit(0, chunk.view());
      reference->finish_pass();
      const RowUpdate actual = device->update_rows(mode, system.problem);
      const RowUpdate wanted = reference->update_rows(mode, system.problem);

      const bool exact = GetParam() == Precision::f64;
      EXPECT_NEAR(actual.inner, wanted.inner, (exact ? 1e-11 : 1e-5) * std::abs(wanted.inner));
      std::vector<double> rows(factors[static_cast<std::size_t>(mode)].size());
      reference->store_factor(mode, 0, rows);
      double largest = 1;
      for (const double number : rows) largest = std::max(largest, std::abs(number));
      const auto is_near = ::testing::DoubleNear((exact ? 1e-11 : 1e-5) * largest);
      EXPECT_THAT(device.factor(mode), ::testing::Pointwise(is_near, rows));
      reference->store_dual(mode, 0, rows);
      for (const double number : rows) largest = std::max(largest, std::abs(number));
      const auto is_dual = ::testing::DoubleNear((exact ? 1e-11 : 1e-5) * largest);
      EXPECT_THAT(device.dual(mode), ::testing::Pointwise(is_dual, rows));
      EXPECT_THAT(device->gram(mode),
                  ::testing::Pointwise(::testing::DoubleNear((exact ? 1e-10 : 1e-4) * 57 * largest * largest),
                                       reference->gram(mode)));
    }
  }
}

TEST_P(ConstrainedBackendOf, TakesFactorAndDualBack) {
  simt::reset();
  const auto tensor = random_tensor({.shape = {40, 3, 57}, .nnz = 800, .seed = 2});
  const auto chunks = encode(tensor, 300);
  for (const RowConstraint& constraint : {nonnegative_rows, simplex_rows}) {
    const DeviceSystem system(5, constraint);
    EmulatedBackend device(tensor.shape, {.rank = 5, .precision = GetParam(), .dual_modes = mode_bit(0)});
    device.load(random_factors(tensor.shape, 5, 11));
    auto dual = random_matrix(20, 5, 3);
    for (double& number : dual) number = static_cast<float>(number);
    EXPECT_EQ(device.dual(0), std::vector<double>(200)) << "zero at first";
    device->load_dual(0, 20, dual);
    const auto loaded = device.dual(0);
    EXPECT_EQ(std::vector<double>(loaded.begin() + 100, loaded.end()), dual);
    device.pass(chunks, 0);
    device->update_rows(0, system.problem);
    const auto before = device.factor(0);
    const auto dual_before = device.dual(0);
    device.pass(chunks, 0);
    device->update_rows(0, system.problem);
    ASSERT_NE(device.factor(0), before);

    device->restore_factor(0);

    EXPECT_EQ(device.factor(0), before);
    if (constraint.needs_dual()) {
      EXPECT_EQ(device.dual(0), dual_before);
    }
    std::vector<double> none(15);
    EXPECT_THROW(device->store_dual(1, 0, none), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(ConstrainedDense, ConstrainedBackendOf,
                         ::testing::Values(Precision::f64, Precision::f32, Precision::mixed), [](const auto& which) {
                           return which.param == Precision::f64   ? "f64"
                                  : which.param == Precision::f32 ? "f32"
                                                                  : "mixed";
                         });

}  // namespace
}  // namespace blco::testing
