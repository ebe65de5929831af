// Passes that read the copies in the orders of their modes: the numbers of natural passes up to rounding, the same bits
// on any number of threads under any budget, and plans that say what is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/tucker.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/aligned_buffer.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/fit/dense_model.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/matrix_views.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// Of {2, 2, 2, 5000} the natural order is that of mode 3, which has no copy.
const std::vector<std::vector<std::uint64_t>> shapes = {
    {120, 140, 90}, {30, 12, 40, 25}, {2, 3, 4000}, {300, 200}, {2, 2, 2, 5000}, {8192, 8000, 5000, 8191, 4097}};

class OrderedPasses : public testing::Test {
 protected:
  TensorFile ingest(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& orders) {
    const CoordinateTensor tensor = random_coordinates({.shape = shape, .nnz = 20'000, .seed = 4});
    const std::filesystem::path path = folder_ / ("t" + std::to_string(files_++) + ".blco");
    ingest_coordinates(CoordinateColumns<>(tensor).arrays(), path, {.chunk_nnz = 9000, .orders = orders});
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
    const TensorFile tensor = ingest(shape, {"all"});
    CpdOptions options = options_of(4, 2);
    options.compute.memory.host_bytes = plan_cpd(tensor, options).minimum_bytes;
    ASSERT_FALSE(plan_cpd(tensor, options).reads.empty());
    const CpdModel natural = fit_cpd(ingest(shape, {}), options_of(4, 2));
    const CpdModel ordered = fit_cpd(tensor, options);

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
        expect_same_bits(fit_cpd(tensor, within({.host_bytes = minimum + extra}, options)), expected);
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
      expect_same_bits(fit_cpd(tensor, options), expected);
      expect_same_bits(fit_cpd(tensor, within({.host_bytes = minimum}, options)), expected);
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
      // The table has a copy per mode, of 3 chunks each; a part of a chunk has a row of its own; and a chunk of a copy
      // may take a page more.
      EXPECT_LE(plan_cpd(ordered, options).minimum_bytes,
                plan_cpd(natural, options).minimum_bytes + shape.size() * 3 * 1000 + 256 * 8 * 8 + page_bytes);
    }
  }
}

TEST_F(OrderedPasses, AreLeftToJobsThatCanReadThem) {
  const TensorFile tensor = ingest(shapes[1], {"all"});
  CpdOptions options = options_of(3, 1);
  EXPECT_EQ(plan_cpd(ingest(shapes[1], {}), options).orders_note, "");
  options.method = GcpMethod{};
  EXPECT_EQ(plan_cpd(tensor, options).orders_note, "passes for several modes read the natural order");
  EXPECT_TRUE(plan_cpd(tensor, options).reads.empty());
  const DeclaredGpu gpu{.memory_bytes = std::uint64_t{1} << 30};
  EXPECT_EQ(plan_cpd(tensor, options_of(3, 1), &gpu).orders_note, "a GPU reads the natural order");
}

// On several threads memory decides, where no promise of the same bits stands in the way.
TEST_F(OrderedPasses, AreLeftAloneWhereMemoryHoldsMoreThanThey) {
  const TensorFile tensor = ingest(shapes[0], {"all"});
  CpdOptions options = options_of(4, 2);
  const CpdPlan ample = plan_cpd(tensor, options);
  EXPECT_EQ(ample.orders_note, "memory holds all nonzeros arranged for each mode, which is faster");
  EXPECT_TRUE(ample.reads.empty());
  fit_cpd(tensor, within({.host_bytes = ample.minimum_bytes}, options));
  bool is_kept = false;
  std::uint64_t before = ample.minimum_bytes;
  for (; !is_kept && before < ample.minimum_bytes + 4'000'000; before += 50'000) {
    const CpdPlan plan = plan_cpd(tensor, within({.host_bytes = before}, options));
    is_kept = plan.orders_note == "memory holds the natural order, but not all of the others";
    EXPECT_EQ(plan.minimum_bytes, ample.minimum_bytes);
    EXPECT_TRUE(!is_kept || plan.streamed_chunks == 0);
  }
  EXPECT_TRUE(is_kept);

  options.compute.deterministic = true;
  EXPECT_EQ(plan_cpd(tensor, options).reads.size(), 3);
  options = options_of(4, 1);
  EXPECT_EQ(plan_cpd(tensor, options).reads.size(), 3);
}

TEST_F(OrderedPasses, ServeMultiplicativeUpdatesToo) {
  const CoordinateTensor counts = random_coordinates({.shape = shapes[1], .nnz = 20'000, .seed = 4, .counts = true});
  std::vector<CpdModel> models;
  for (const std::vector<std::string>& orders : {std::vector<std::string>{}, {"all"}, {"2"}}) {
    const std::filesystem::path path = folder_ / "counts.blco";
    ingest_coordinates(CoordinateColumns<>(counts).arrays(), path, {.chunk_nnz = 3000, .orders = orders});
    const TensorFile tensor(path);
    CpdOptions options = options_of(4, 2);
    options.method = AprMethod{};
    const std::uint64_t minimum = plan_cpd(tensor, options).minimum_bytes;

    EXPECT_EQ(plan_cpd(tensor, options).reads.empty(), orders.empty());
    models.push_back(fit_cpd(tensor, within({.host_bytes = minimum}, options)));
  }

  for (const CpdModel& model : models) {
    ASSERT_EQ(model.sweeps(), 3);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(model.objective_history[i], models[0].objective_history[i],
                  1e-9 * std::abs(models[0].objective_history[i]));
    }
  }
}

TEST_F(OrderedPasses, ServeTensorsInMemory) {
  const CoordinateTensor tensor = random_coordinates({.shape = shapes[0], .nnz = 20'000, .seed = 4});
  const MemoryTensor ordered(CoordinateColumns<>(tensor).arrays(), {.chunk_nnz = 9000, .orders = {"all"}});
  const CpdOptions options = options_of(4, 1);

  EXPECT_EQ(plan_cpd(ordered, options).reads.size(), 3);
  expect_same_bits(fit_cpd(ordered, options), fit_cpd(ingest(shapes[0], {"all"}), options));
}

TEST_F(OrderedPasses, GoOnWithTheSameBitsAfterAResume) {
  const TensorFile tensor = ingest(shapes[1], {"all"});
  CpdOptions options = options_of(4, 1);
  const CpdModel expected = fit_cpd(tensor, options);
  CpdOptions first = options;
  first.max_sweeps = 1;
  first.checkpoint = folder_ / "half.ckpt";
  fit_cpd(tensor, first);
  options.resume = first.checkpoint;

  const CpdModel resumed = fit_cpd(tensor, options);

  EXPECT_EQ(resumed.fit_history, expected.fit_history);
  EXPECT_EQ(resumed.factors, expected.factors);
}

TEST_F(OrderedPasses, ServeTuckerDecompositionsBySlabsToo) {
  TuckerOptions options{.ranks = {3, 3}, .max_sweeps = 2};
  options.compute.threads = 1;
  const TuckerModel natural = fit_tucker(ingest(shapes[3], {}), options);
  const TuckerModel ordered = fit_tucker(ingest(shapes[3], {"all"}), options);

  EXPECT_NEAR(ordered.fit_history.back(), natural.fit_history.back(), 1e-9);
}

}  // namespace
}  // namespace blco
