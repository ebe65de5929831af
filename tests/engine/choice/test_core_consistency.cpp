// Core consistency of models whose core can be read off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/core_consistency.hpp>
#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "blco/error.hpp"

namespace blco {
namespace {

// Unit vectors as columns, so that the core is the tensor itself, scaled.
CpdModel unit_model(const std::vector<std::uint64_t>& shape, int rank) {
  CpdModel model;
  model.shape = shape;
  model.rank = rank;
  const auto columns = static_cast<std::size_t>(rank);
  model.weights.assign(columns, 1.0);
  for (const std::uint64_t length : shape) {
    std::vector<double>& factor = model.factors.emplace_back(static_cast<std::size_t>(length) * columns);
    for (std::size_t r = 0; r < columns; ++r) factor[r * columns + r] = 1.0;
  }
  return model;
}

MemoryTensor core_tensor(const std::vector<std::uint64_t>& shape, const std::vector<std::vector<std::uint32_t>>& places,
                         const std::vector<double>& values) {
  CoordinateArrays arrays;
  for (const std::vector<std::uint32_t>& mode : places) arrays.coordinates.emplace_back(mode);
  arrays.values = values;
  return MemoryTensor(arrays, {.shape = shape});
}

// 4 x 3 x 5 with ones at (r, r, r), 0.5 at (0, 1, 2), and -0.25 at (2, 0, 0).
MemoryTensor nearly_diagonal() {
  return core_tensor({4, 3, 5}, {{0, 1, 2, 0, 2}, {0, 1, 2, 1, 0}, {0, 1, 2, 2, 0}}, {1.0, 1.0, 1.0, 0.5, -0.25});
}

TEST(CoreConsistency, CountsWhatIsOffTheDiagonal) {
  const MemoryTensor tensor = nearly_diagonal();

  const std::optional<double> percent = core_consistency(tensor, unit_model({4, 3, 5}, 3));

  ASSERT_TRUE(percent.has_value());
  EXPECT_NEAR(*percent, 100 * (1 - (0.25 + 0.0625) / 3), 1e-12);
}

TEST(CoreConsistency, SharesTheWeightsAmongTheModes) {
  const MemoryTensor tensor = core_tensor({2, 2, 2}, {{0, 1, 0}, {0, 1, 1}, {0, 1, 0}}, {8.0, 64.0, 2.0});
  CpdModel model = unit_model({2, 2, 2}, 2);
  model.weights = {8.0, 64.0};

  const std::optional<double> percent = core_consistency(tensor, model);

  // Columns of norm 2 and 4: the core has 2 / (2 * 4 * 2) off its diagonal.
  ASSERT_TRUE(percent.has_value());
  EXPECT_NEAR(*percent, 100 * (1 - 0.125 * 0.125 / 2), 1e-12);
}

TEST(CoreConsistency, KeepsTheSignOfAWeight) {
  const MemoryTensor tensor = core_tensor({2, 2, 2}, {{0, 1}, {0, 1}, {0, 1}}, {8.0, -64.0});
  CpdModel model = unit_model({2, 2, 2}, 2);
  model.weights = {8.0, -64.0};

  const std::optional<double> percent = core_consistency(tensor, model);

  EXPECT_NEAR(percent.value_or(0), 100, 1e-12);
}

TEST(CoreConsistency, LosesAComponentThatIsThereTwice) {
  const MemoryTensor tensor = core_tensor({2, 2, 2}, {{0}, {0}, {0}}, {2.0});
  CpdModel model = unit_model({2, 2, 2}, 2);
  for (std::vector<double>& factor : model.factors) factor = {1.0, 1.0, 0.0, 0.0};

  const std::optional<double> percent = core_consistency(tensor, model);

  // The pseudo-inverse of two equal columns gives each a half: every entry of the 2 x 2 x 2 core is 2 / 8.
  EXPECT_NEAR(percent.value_or(0), 100 * (1 - (2 * 0.75 * 0.75 + 6 * 0.25 * 0.25) / 2), 1e-9);
}

TEST(CoreConsistency, IsTheSameInLittleMemory) {
  const MemoryTensor tensor = nearly_diagonal();
  const CpdModel model = unit_model({4, 3, 5}, 3);
  const std::uint64_t least = plan_cpd(tensor, {.rank = 1, .compute = {.devices = {"cpu"}}}).minimum_bytes;

  const std::optional<double> percent = core_consistency(
      tensor, model, {.devices = {"cpu"}, .threads = 1, .memory = {.host_bytes = least + (1 << 18)}});

  EXPECT_NEAR(percent.value_or(0), 100 * (1 - (0.25 + 0.0625) / 3), 1e-12);
}

TEST(CoreConsistency, LeavesLargeCoresOut) {
  const MemoryTensor tensor = core_tensor({17, 17, 17, 17}, {{0}, {0}, {0}, {0}}, {1.0});

  const std::optional<double> percent = core_consistency(tensor, unit_model({17, 17, 17, 17}, 17));

  EXPECT_EQ(core_columns(4, 16), max_core_columns);
  EXPECT_GT(core_columns(4, 17), max_core_columns);
  EXPECT_FALSE(percent.has_value());
  EXPECT_EQ(core_columns(2, 256), 256U);
  EXPECT_GT(core_columns(2, 257), max_core_columns);
}

TEST(CoreConsistency, TakesVectorsAndMatrices) {
  const MemoryTensor vector = core_tensor({4}, {{1, 2}}, {3.0, 1.0});
  CpdModel single = unit_model({4}, 1);
  single.factors[0] = {0.0, 1.0, 0.0, 0.0};
  single.weights = {3.0};
  const MemoryTensor matrix = core_tensor({2, 3}, {{0, 1, 0}, {0, 1, 1}}, {1.0, 1.0, 0.5});

  EXPECT_NEAR(core_consistency(vector, single).value_or(0), 100, 1e-12);
  EXPECT_NEAR(core_consistency(matrix, unit_model({2, 3}, 2)).value_or(0), 100 * (1 - 0.25 / 2), 1e-12);
}

TEST(CoreConsistency, SaysNothingOfLogarithmsOddsAndUnknownCells) {
  EXPECT_TRUE(has_core_consistency(AlsMethod{}));
  EXPECT_TRUE(has_core_consistency(AprMethod{}));
  EXPECT_TRUE(has_core_consistency(GcpMethod{.loss = {LossKind::gamma}}));
  EXPECT_FALSE(has_core_consistency(GcpMethod{.loss = {LossKind::poisson_log}}));
  EXPECT_FALSE(has_core_consistency(GcpMethod{.loss = {LossKind::bernoulli_odds}}));
  EXPECT_FALSE(has_core_consistency(CompletionMethod{}));
}

TEST(CoreConsistency, RefusesAModelOfAnotherShape) {
  const MemoryTensor tensor = nearly_diagonal();

  EXPECT_THROW(core_consistency(tensor, unit_model({4, 3, 6}, 3)), Error);
}

TEST(CoreConsistency, EndsWhenTheCallerSaysSo) {
  const MemoryTensor tensor = nearly_diagonal();
  std::optional<ErrorKind> kind;

  try {
    core_consistency(tensor, unit_model({4, 3, 5}, 3), {}, [](const Progress&) { return false; });
  } catch (const Error& error) {
    kind = error.kind();
  }

  EXPECT_EQ(kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace blco
