// What only the host backend promises of constrained updates: the same bits from threads, every instruction set, memory
// figures, messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/device_kind.hpp"
#include "kernels/highway_targets.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/constrained_rows.hpp"
// After the limits on targets:
#include <hwy/targets.h>

namespace blco::testing {
namespace {

// Factor, dual and sums after two updates of rows that three threads share.
std::vector<double> numbers_of_updates(const BackendCase& which, const RowConstraint& constraint, int rank) {
  const TestSystem system(rank, test_rho);
  UpdatedRows backend(which, 900, rank);
  backend.start(nonnegative_matrix(900, rank, 1), {}, output_with_gaps(900, rank, 2.0));
  RowUpdate update = backend->update_rows(0, system.problem(constraint));
  backend.fill(random_matrix(900, rank, 2));
  update = backend->update_rows(0, system.problem(constraint, update.norms));
  std::vector<double> numbers = backend.factor();
  const auto dual = backend.dual();
  const auto gram = backend->gram(0);
  numbers.insert(numbers.end(), dual.begin(), dual.end());
  numbers.insert(numbers.end(), update.norms.begin(), update.norms.end());
  numbers.insert(numbers.end(), gram.begin(), gram.end());
  numbers.push_back(update.inner);
  return numbers;
}

TEST(HostBackendConstraints, ThreadsChangeNoBit) {
  for (const RowConstraint& constraint : {nonnegative, on_simplex, sparse_box}) {
    for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
      const auto expected = numbers_of_updates({1, precision}, constraint, 9);

      for (const int threads : {2, 3}) EXPECT_EQ(numbers_of_updates({threads, precision}, constraint, 9), expected);
    }
  }
}

TEST(HostBackendConstraints, UpdatesRowsAlikeOnEveryInstructionSet) {
  for (const int rank : {1, 8, 17}) {
    for (const RowConstraint& constraint : {nonnegative, on_simplex, sparse_box}) {
      const auto expected = numbers_of_updates({0, Precision::f64}, constraint, rank);
      for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::GetChosenTarget().Update(target);
        const auto actual = numbers_of_updates({2, Precision::f64}, constraint, rank);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i])))
              << "rank " << rank << " on " << hwy::TargetName(target) << ", number " << i;
        }
      }
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
  }
}

TEST(HostBackendConstraints, SaysWhatAnUpdateLacks) {
  UpdatedRows backend({1, Precision::f64}, 3, 2);
  backend.start(std::vector<double>(6), {}, std::vector<double>(6, 1.0));
  const TestSystem system(2, test_rho);
  const auto refused = [&](Backend& from, const RowProblem& problem) -> std::string {
    try {
      from.update_rows(0, problem);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  RowProblem without_system = system.problem(nonnegative);
  without_system.system = {};
  RowProblem without_rho = system.problem(on_simplex);
  without_rho.rho = 0;
  const std::vector<double> weight{1.0};

  EXPECT_THAT(refused(*backend.operator->(), without_system), ::testing::HasSubstr("the system"));
  EXPECT_THAT(refused(*backend.operator->(), without_rho), ::testing::HasSubstr("rho"));
  EXPECT_THAT(refused(*backend.operator->(), system.problem(nonnegative, weight)), ::testing::HasSubstr("weight"));
  const std::vector<std::uint64_t> shape{3, 2};
  BackendUnderTest without_dual({1, Precision::f64}, shape, 2);
  without_dual->begin_pass(0);
  without_dual->finish_pass();
  EXPECT_THAT(refused(*without_dual, system.problem(on_simplex)), ::testing::HasSubstr("dual_modes"));
}

TEST(HostBackendConstraints, CountsDualsAlsoThoseBeforeAnUpdate) {
  BackendConfig config{.layout = TensorLayout(std::vector<std::uint64_t>{100'000, 200'000}), .rank = 13};
  const std::uint64_t without = host_kind().footprint(config, 2).host.bytes();
  config.keep_previous = true;
  const std::uint64_t with_previous = host_kind().footprint(config, 2).host.bytes();
  config.dual_modes = mode_bit(1);
  const std::uint64_t with_both = host_kind().footprint(config, 2).host.bytes();
  config.keep_previous = false;
  const std::uint64_t with_duals = host_kind().footprint(config, 2).host.bytes();
  config.precision = Precision::mixed;
  const std::uint64_t mixed_duals = host_kind().footprint(config, 2).host.bytes();
  config.dual_modes = 0;
  const std::uint64_t mixed = host_kind().footprint(config, 2).host.bytes();

  // Two threads hold two more tiles of 32 rows each.
  constexpr std::uint64_t dual = 200'000U * 16 * 8;
  constexpr double tiles = 2 * 2 * 32 * 16 * 8;
  EXPECT_NEAR(static_cast<double>(with_duals - without), static_cast<double>(dual) + tiles / 2, tiles);
  EXPECT_EQ(with_both - with_previous, with_duals - without + dual);
  EXPECT_NEAR(static_cast<double>(mixed_duals - mixed), static_cast<double>(dual / 2) + tiles / 2, tiles);
}

}  // namespace
}  // namespace blco::testing
