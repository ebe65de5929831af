// Initial factors: fixed by seed, mode and place, and uniform; or leading vectors of unfoldings.
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "engine/fit/initial_factors.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

std::vector<double> initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, std::uint64_t count, int rank,
                                 Start start = Start::uniform) {
  std::vector<double> rows(count * static_cast<std::uint64_t>(rank));
  fill_initial_rows(seed, mode, first_row, rank, rows, start);
  return rows;
}

TEST(InitialFactors, AreUniformInZeroToOne) {
  const auto factor = initial_rows(1, 0, 0, 10000, 10);

  const double mean = std::accumulate(factor.begin(), factor.end(), 0.0) / static_cast<double>(factor.size());
  double variance = 0;
  for (const double x : factor) variance += (x - mean) * (x - mean) / static_cast<double>(factor.size());
  EXPECT_GE(*std::min_element(factor.begin(), factor.end()), 0);
  EXPECT_LT(*std::max_element(factor.begin(), factor.end()), 1);
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(variance, 1.0 / 12, 0.002);
}

// Mean, and mean of the squares and of the fourth powers.
std::vector<double> moments_of(const std::vector<double>& numbers) {
  std::vector<double> sums(3);
  for (const double x : numbers) {
    sums[0] += x;
    sums[1] += x * x;
    sums[2] += x * x * x * x;
  }
  for (double& sum : sums) sum /= static_cast<double>(numbers.size());
  return sums;
}

TEST(InitialFactors, MayBeCenteredOrNormal) {
  const auto uniform = initial_rows(1, 0, 0, 10000, 10);
  const auto centered = initial_rows(1, 0, 0, 10000, 10, Start::centered);
  const auto normal = moments_of(initial_rows(1, 0, 0, 10000, 10, Start::normal));

  for (std::size_t i = 0; i < uniform.size(); ++i) ASSERT_EQ(centered[i], uniform[i] - 0.5);
  EXPECT_NEAR(normal[0], 0, 0.01);
  EXPECT_NEAR(normal[1], 1, 0.02);
  EXPECT_NEAR(normal[2], 3, 0.15);
}

TEST(InitialFactors, DifferBySeedAndMode) {
  EXPECT_EQ(initial_rows(1, 0, 0, 5, 3), initial_rows(1, 0, 0, 5, 3));
  EXPECT_NE(initial_rows(1, 0, 0, 5, 3), initial_rows(2, 0, 0, 5, 3));
  EXPECT_NE(initial_rows(1, 0, 0, 5, 3), initial_rows(1, 1, 0, 5, 3));
}

TEST(InitialFactors, AreTheSameInPiecesAsInOne) {
  for (const Start start : {Start::uniform, Start::normal}) {
    auto pieces = initial_rows(4, 2, 0, 3, 5, start);
    const auto rest = initial_rows(4, 2, 3, 7, 5, start);
    pieces.insert(pieces.end(), rest.begin(), rest.end());

    EXPECT_EQ(pieces, initial_rows(4, 2, 0, 10, 5, start));
  }
}

// X(i, i mod 3, 11 - i) = 32^-i: rows of each unfolding are orthogonal, so that its singular vectors are unit vectors.
MemoryTensor falling_tensor() {
  std::vector<std::vector<std::uint32_t>> modes(3);
  std::vector<double> values;
  for (std::uint32_t i = 0; i < 12; ++i) {
    modes[0].push_back(i);
    modes[1].push_back(i % 3);
    modes[2].push_back(11 - i);
    values.push_back(std::ldexp(1, -5 * static_cast<int>(i)));
  }
  return MemoryTensor({.coordinates = {modes[0], modes[1], modes[2]}, .values = values}, {.chunk_nnz = 5});
}

std::vector<std::vector<double>> sampled(const Tensor& tensor, const CpdOptions& options) {
  ProgressMeter meter(options.on_progress);
  return sample_initial_factors(tensor, options, {}, meter);
}

TEST(InitialFactors, SampledOnesAreTheLeadingVectorsByFallingValue) {
  const MemoryTensor tensor = falling_tensor();
  const CpdOptions options{.rank = 5, .seed = 3, .start = Start::nvecs};

  const std::vector<std::vector<double>> factors = sampled(tensor, options);

  for (std::size_t r = 0; r < 5; ++r) {
    double squares = 0;
    for (std::size_t i = 0; i < 12; ++i) squares += factors[0][i * 5 + r] * factors[0][i * 5 + r];
    EXPECT_NEAR(squares, 1, 1e-12);
    EXPECT_GT(factors[0][r * 5 + r], 0.99);
    EXPECT_GT(factors[2][(11 - r) * 5 + r], 0.99);
  }
  // A mode of three indices has three vectors.
  const std::vector<double> random = initial_rows(3, 1, 0, 3, 5);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(factors[1][i * 5 + i], 0.99);
    for (std::size_t r = 3; r < 5; ++r) EXPECT_EQ(factors[1][i * 5 + r], random[i * 5 + r]);
  }
}

TEST(InitialFactors, SampledOnesOfNonnegativeModesAreAbsolute) {
  const MemoryTensor tensor = falling_tensor();
  CpdOptions options{.rank = 5, .start = Start::nvecs};
  std::vector<std::vector<double>> expected = sampled(tensor, options);
  options.method = AlsMethod{{{.set = RowSet::nonnegative}, {}, {.set = RowSet::simplex}}};

  const std::vector<std::vector<double>> factors = sampled(tensor, options);

  for (const std::size_t n : {0, 2}) {
    EXPECT_LT(std::ranges::min(expected[n]), 0);
    for (double& number : expected[n]) number = std::abs(number);
  }
  EXPECT_EQ(factors, expected);
}

TEST(InitialFactors, SampledOnesHaveTheSameBitsOnAnyThreadsInAnyBudget) {
  const MemoryTensor tensor = falling_tensor();
  CpdOptions options{.rank = 5, .start = Start::nvecs};
  options.compute.deterministic = true;
  options.compute.threads = 1;
  const std::vector<std::vector<double>> expected = sampled(tensor, options);
  for (const int threads : {1, 3}) {
    options.compute.threads = threads;
    options.compute.memory.host_bytes = 0;
    options.compute.memory.host_bytes = plan_cpd(tensor, options).minimum_bytes;

    EXPECT_EQ(sampled(tensor, options), expected);
    EXPECT_EQ(fit_cpd(tensor, options).rank, 5);
    --options.compute.memory.host_bytes;
    EXPECT_THROW(fit_cpd(tensor, options), Error);
  }
}

TEST(InitialFactors, AreNotSampledWhereAModelHasThem) {
  const TemporaryFolder folder;
  const MemoryTensor tensor = falling_tensor();
  CpdOptions options{.rank = 2, .max_sweeps = 4, .tolerance = 0, .start = Start::nvecs};
  options.compute.threads = 1;
  std::vector<std::string> stages;
  options.on_progress = [&](const Progress& progress) {
    if (stages.empty() || stages.back() != progress.stage) stages.push_back(progress.stage);
    return true;
  };
  const CpdModel expected = fit_cpd(tensor, options);
  EXPECT_EQ(stages, (std::vector<std::string>{"start", "sweep"}));
  options.checkpoint = folder / "checkpoint.h5";
  options.max_sweeps = 2;
  fit_cpd(tensor, options);
  options.max_sweeps = 4;
  options.resume = options.checkpoint;
  stages.clear();

  const CpdModel resumed = fit_cpd(tensor, options);

  EXPECT_EQ(stages, (std::vector<std::string>{"sweep"}));
  EXPECT_EQ(resumed.factors, expected.factors);
  EXPECT_EQ(resumed.fit_history, expected.fit_history);
}

TEST(InitialFactors, SampleValuesWhoseSquaresSinglePrecisionDoesNotHold) {
  const std::vector<std::vector<std::uint32_t>> modes(3, {0, 1});
  const std::vector<double> values{3e38, 3e38};
  const MemoryTensor tensor({.coordinates = {modes[0], modes[1], modes[2]}, .values = values});
  CpdOptions options{.rank = 2, .start = Start::nvecs};
  options.compute.precision = Precision::f32;

  const CpdModel model = fit_cpd(tensor, options);

  EXPECT_NEAR(model.fit(), 1, 1e-3);
}

}  // namespace
}  // namespace blco
