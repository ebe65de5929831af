// Passes that read the copies in the orders of their modes: the numbers of natural passes up to rounding, the same bits
// on any number of threads under any budget, and plans that say what is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/tucker.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/matrix_views.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

const std::vector<std::vector<std::uint64_t>> shapes = {
    {120, 140, 90}, {30, 12, 40, 25}, {2, 3, 4000}, {300, 200}, {8192, 8000, 5000, 8191, 4097}};

class OrderedPasses : public testing::Test {
 protected:
  TensorFile ingest(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& orders) {
    const CoordinateTensor tensor = random_coordinates({.shape = shape, .nnz = 20'000, .seed = 4});
    const std::filesystem::path path = folder_ / ("t" + std::to_string(files_++) + ".blco");
    ingest_coordinates(CoordinateColumns<>(tensor).arrays(), path, {.chunk_nnz = 3000, .orders = orders});
    return TensorFile(path);
  }

  TemporaryFolder folder_;
  int files_ = 0;
};

std::vector<std::vector<double>> random_factors(const std::vector<std::uint64_t>& shape, int rank) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  std::vector<std::vector<double>> factors;
  for (const std::uint64_t length : shape) {
    factors.emplace_back(length * static_cast<std::size_t>(rank));
    for (double& number : factors.back()) number = unit(random);
  }
  return factors;
}

CpdOptions options_of(int rank, int threads) {
  return {.rank = rank, .max_sweeps = 3, .tolerance = 0, .compute = {.threads = threads}};
}

void expect_same_model(const CpdModel& a, const CpdModel& b) {
  EXPECT_EQ(a.fit_history, b.fit_history);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.factors, b.factors);
}

TEST_F(OrderedPasses, GiveTheProductsOfNaturalPasses) {
  for (const auto& shape : shapes) {
    const TensorFile natural = ingest(shape, {});
    for (const char* const orders : {"all", "1"}) {
      const TensorFile ordered = ingest(shape, {orders});
      const auto factors = random_factors(shape, 7);
      for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
        for (const int threads : {1, 3}) {
          const auto expected = mttkrp(natural, matrix_views(factors, 7), mode, {.threads = threads});
          const auto found = mttkrp(ordered, matrix_views(factors, 7), mode, {.threads = threads});
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-10) << mode << ' ' << i;
        }
      }
    }
  }
}

TEST_F(OrderedPasses, GiveTheSameFitUpToRounding) {
  for (const auto& shape : shapes) {
    const CpdModel natural = fit_cpd(ingest(shape, {}), options_of(4, 2));
    const CpdModel ordered = fit_cpd(ingest(shape, {"all"}), options_of(4, 2));

    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(ordered.fit_history[i], natural.fit_history[i], 1e-9);
  }
}

TEST_F(OrderedPasses, HaveTheSameBitsUnderAnyBudget) {
  for (const auto& shape : shapes) {
    for (const char* const orders : {"all", "1"}) {
      const TensorFile tensor = ingest(shape, {orders});
      const CpdOptions options = options_of(5, 1);
      const CpdModel expected = fit_cpd(tensor, options);
      const std::uint64_t minimum = plan_cpd(tensor, options).minimum_bytes;
      for (const std::uint64_t extra : {0U, 100'000U, 400'000U, 2'000'000U}) {
        expect_same_model(fit_cpd(tensor, within({.host_bytes = minimum + extra}, options)), expected);
      }
    }
  }
}

TEST_F(OrderedPasses, HaveTheSameBitsOnAnyNumberOfThreadsInADeterministicJob) {
  for (const auto& shape : shapes) {
    const TensorFile tensor = ingest(shape, {"all"});
    CpdOptions options = options_of(5, 1);
    options.compute.deterministic = true;
    const CpdModel expected = fit_cpd(tensor, options);
    for (const int threads : {2, 3, 8}) {
      options.compute.threads = threads;
      const std::uint64_t minimum = plan_cpd(tensor, options).minimum_bytes;
      expect_same_model(fit_cpd(tensor, options), expected);
      expect_same_model(fit_cpd(tensor, within({.host_bytes = minimum}, options)), expected);
    }
  }
}

// Each product is one, whatever the budget of a job: also without determinism its bits are the same on all threads.
TEST_F(OrderedPasses, MakeProductsWhoseBitsDoNotDependOnThreads) {
  const TensorFile tensor = ingest(shapes[0], {"all"});
  const auto factors = random_factors(shapes[0], 16);
  for (int mode = 0; mode < 3; ++mode) {
    const auto expected = mttkrp(tensor, matrix_views(factors, 16), mode, {.threads = 1});
    for (const int threads : {2, 5})
      EXPECT_EQ(mttkrp(tensor, matrix_views(factors, 16), mode, {.threads = threads}), expected);
  }
}

TEST_F(OrderedPasses, ReadWhatTheirPlanSays) {
  const TensorFile all = ingest(shapes[0], {"all"});
  const TensorFile one = ingest(shapes[0], {"1"});
  for (const TensorFile* const tensor : {&all, &one}) {
    CpdOptions options = options_of(4, 2);
    options.compute.memory.host_bytes = plan_cpd(*tensor, options).minimum_bytes;
    const CpdPlan plan = plan_cpd(*tensor, options);
    std::vector<std::uint64_t> bytes;
    options.on_sweep = [&](const SweepReport& sweep) {
      bytes.push_back(sweep.bytes_read);
      return true;
    };

    fit_cpd(*tensor, options);

    ASSERT_EQ(plan.reads.size(), 3);
    std::uint64_t sum = 0;
    for (std::size_t mode = 0; mode < 3; ++mode) {
      EXPECT_EQ(plan.reads[mode].own_order, tensor == &all || mode == 1) << mode;
      sum += plan.reads[mode].disk_bytes;
    }
    EXPECT_GT(sum, 0);
    EXPECT_EQ(bytes.back(), sum);
    EXPECT_NEAR(static_cast<double>(plan.disk_bytes_per_pass), static_cast<double>(sum) / 3, 50);
    EXPECT_EQ(plan.orders_note, "");
  }
}

TEST_F(OrderedPasses, TakeNoMoreMemoryThanNaturalOnes) {
  for (const auto& shape : shapes) {
    const TensorFile natural = ingest(shape, {});
    const TensorFile ordered = ingest(shape, {"all"});
    for (const int threads : {1, 2, 4}) {
      const CpdOptions options = options_of(8, threads);
      // The table has a copy per mode, of 7 chunks each; a part of a chunk has a row of its own.
      EXPECT_LE(plan_cpd(ordered, options).minimum_bytes,
                plan_cpd(natural, options).minimum_bytes + shape.size() * 7 * 1000 + 256 * 8 * 8);
    }
  }
}

TEST_F(OrderedPasses, AreLeftToJobsThatCanReadThem) {
  const TensorFile tensor = ingest(shapes[1], {"all"});
  CpdOptions options = options_of(3, 1);
  EXPECT_EQ(plan_cpd(ingest(shapes[1], {}), options).orders_note, "");
  options.method = GcpMethod{};
  EXPECT_EQ(plan_cpd(tensor, options).orders_note, "a pass for several modes reads the natural order");
  EXPECT_TRUE(plan_cpd(tensor, options).reads.empty());
  const DeclaredGpu gpu{.memory_bytes = std::uint64_t{1} << 30};
  EXPECT_EQ(plan_cpd(tensor, options_of(3, 1), &gpu).orders_note, "a GPU reads the natural order");
}

TEST_F(OrderedPasses, ServeTuckerDecompositionsToo) {
  TuckerOptions options{.ranks = {3, 2, 4}, .max_sweeps = 2};
  const TuckerModel natural = fit_tucker(ingest(shapes[0], {}), options);
  const TuckerModel ordered = fit_tucker(ingest(shapes[0], {"all"}), options);

  EXPECT_NEAR(ordered.fit_history.back(), natural.fit_history.back(), 1e-9);
}

}  // namespace
}  // namespace blco
