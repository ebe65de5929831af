// Tucker models that start from another model: of the same tensor, of one that has grown, with held modes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/tucker.hpp>
#include <cmath>
#include <vector>

#include "tests/engine/fit/tucker_tensors.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// The dense tensor times a column of each mode's matrix, by a loop over its cells.
double core_entry(const TuckerModel& model, const std::vector<std::uint64_t>& columns) {
  double sum = 0;
  for (std::uint64_t i = 0; i < model.shape[0]; ++i) {
    for (std::uint64_t j = 0; j < model.shape[1]; ++j) {
      for (std::uint64_t k = 0; k < model.shape[2]; ++k) {
        sum += cell_value(i, j, k) * model.factors[0][i * model.ranks[0] + columns[0]] *
               model.factors[1][j * model.ranks[1] + columns[1]] * model.factors[2][k * model.ranks[2] + columns[2]];
      }
    }
  }
  return sum;
}

TEST(TuckerStart, RefusesAnInitialModelOfOtherRanks) {
  const MemoryTensor tensor = dense_tensor();
  const TuckerModel model = fit_tucker(tensor, of_ranks({2}));
  TuckerOptions options = of_ranks({3});
  options.initial = &model;

  expect_refused(tensor, options, "has the ranks 2x2x2");
  options.ranks.clear();
  EXPECT_EQ(fit_tucker(tensor, options).ranks, model.ranks);
}

TEST(TuckerStart, GoesOnFromAModel) {
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({2});
  options.tolerance = 0;
  options.max_sweeps = 4;
  const TuckerModel whole = fit_tucker(tensor, options);
  options.max_sweeps = 2;
  const TuckerModel half = fit_tucker(tensor, options);
  options.initial = &half;

  const TuckerModel second = fit_tucker(tensor, options);

  EXPECT_NEAR(second.fit(), whole.fit(), 1e-12);
  for (std::size_t i = 0; i < whole.core.size(); ++i) EXPECT_NEAR(second.core[i], whole.core[i], 1e-9 * whole.core[0]);
}

// The first cells along a mode, and then all of them: both have multilinear ranks of 3, so that a model of these is
// exact.
TEST(TuckerStart, GoesOnFromAModelOfATensorThatHasGrown) {
  const MemoryTensor whole = dense_tensor();
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    TuckerOptions options = of_ranks({3}, method);
    const TuckerModel before = fit_tucker(dense_tensor(4), options);
    ASSERT_EQ(before.shape, (std::vector<std::uint64_t>{4, 6, 6}));
    options.initial = &before;
    std::vector<std::uint64_t> new_rows;
    options.on_plan = [&](const TuckerPlan& plan) { new_rows = plan.plan.new_rows; };

    const TuckerModel after = fit_tucker(whole, options);

    EXPECT_EQ(new_rows, (std::vector<std::uint64_t>{2, 0, 0}));
    EXPECT_EQ(after.shape, whole.shape());
    EXPECT_NEAR(after.fit(), 1, 1e-6) << to_string(method);
    options.initial = &after;
    expect_refused(dense_tensor(4), options, "may be longer, but not shorter");
  }
}

// The core is the tensor times all transposed matrices, here by a dense loop; the best free matrix for held ones is no
// worse than that of the model.
TEST(TuckerStart, KeepsTheMatricesOfHeldModes) {
  const MemoryTensor tensor = dense_tensor();
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    TuckerOptions options = of_ranks({2}, method);
    options.max_sweeps = 1;
    const TuckerModel before = fit_tucker(tensor, options);
    options.max_sweeps = 20;
    options.initial = &before;
    const RowConstraint held{.set = RowSet::held};
    for (const auto& constraints : {std::vector{held, RowConstraint(), held}, std::vector{RowConstraint(), held, held},
                                    std::vector{held, held, RowConstraint()}, std::vector{held, held, held}}) {
      options.constraints = constraints;

      const TuckerModel after = fit_tucker(tensor, options);

      EXPECT_EQ(after.constraints, constraints);
      EXPECT_GE(after.fit(), before.fit() - 1e-12);
      for (std::size_t n = 0; n < 3; ++n) {
        EXPECT_EQ(after.factors[n] == before.factors[n], constraints[n].is_held()) << "mode " << n;
      }
      for (std::size_t at = 0; at < after.core.size(); ++at) {
        EXPECT_NEAR(after.core[at], core_entry(after, {at / 4, at / 2 % 2, at % 2}), 1e-9 * std::abs(before.core[0]));
      }
    }
  }
}

TEST(TuckerStart, GoesOnFromACheckpointWithHeldModes) {
  const TemporaryFolder folder;
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({2});
  const TuckerModel before = fit_tucker(tensor, options);
  options.initial = &before;
  options.constraints = {{}, {.set = RowSet::held}, {}};
  options.tolerance = 0;
  options.max_sweeps = 4;
  const TuckerModel whole = fit_tucker(tensor, options);
  options.max_sweeps = 2;
  options.checkpoint = folder / "fit.ckpt";
  fit_tucker(tensor, options);
  TuckerOptions resumed = of_ranks({});
  resumed.resume = folder / "fit.ckpt";
  resumed.tolerance = 0;
  resumed.max_sweeps = 4;

  const TuckerModel second = fit_tucker(tensor, resumed);

  EXPECT_EQ(second.factors, whole.factors);
  EXPECT_EQ(second.core, whole.core);
  EXPECT_EQ(second.constraints, options.constraints);
  resumed.constraints = {{.set = RowSet::held}, {}, {}};
  expect_refused(tensor, resumed, "does not hold the modes of");
}

// A list of modes of which none is held says the same as no list; a model of unknown numbers may be of any tensor.
TEST(TuckerStart, GoesOnFromAModelThatHoldsNone) {
  const TemporaryFolder folder;
  const MemoryTensor tensor = dense_tensor();
  TuckerModel model = fit_tucker(tensor, of_ranks({2}));
  model.tensor_nnz = 0;
  model.tensor_sum_of_squares = 0;
  save(model, folder / "model.h5");
  TuckerOptions options = of_ranks({});
  options.resume = folder / "model.h5";
  options.constraints.assign(3, {});

  EXPECT_GE(fit_tucker(tensor, options).fit(), model.fit() - 1e-12);
}

TEST(TuckerStart, RefusesHeldModesThatDoNotSuit) {
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({2});
  options.constraints.assign(3, {.set = RowSet::held});
  expect_refused(tensor, options, "keeps the factor of a model");
  TuckerModel model = fit_tucker(tensor, of_ranks({2}));
  options.initial = &model;
  options.constraints[1].set = RowSet::nonnegative;
  expect_refused(tensor, options, "no other constraint");
  options.constraints.pop_back();
  expect_refused(tensor, options, "2 entries, but the tensor has 3 modes");
  options.constraints.assign(3, {.set = RowSet::held});
  model.factors[1][0] += 0.1;
  expect_refused(tensor, options, "not orthonormal");
  model = fit_tucker(dense_tensor(4), of_ranks({2}));
  expect_refused(tensor, options, "mode 0 is held, but 2 of its indices");
}

}  // namespace
}  // namespace blco
