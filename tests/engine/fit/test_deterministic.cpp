// The same bits from any number of threads under any budget; and without that, the same numbers up to rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cmath>
#include <cstring>

#include "engine/fit/initial_factors.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/matrix_views.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

const std::vector<int> thread_counts{1, 2, 3, 8};

TensorFile ingest(const TemporaryFolder& folder, const CoordinateTensor& tensor) {
  ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "in.blco", {.chunk_nnz = 3000});
  return TensorFile(folder / "in.blco");
}

std::uint64_t planned_minimum(const TensorFile& tensor, const CpdOptions& options) {
  return plan_cpd(tensor, options).minimum_bytes;
}

bool same_bytes(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void expect_same_model(const CpdModel& a, const CpdModel& b) {
  EXPECT_TRUE(same_bytes(a.fit_history, b.fit_history));
  EXPECT_TRUE(same_bytes(a.weights, b.weights));
  for (std::size_t n = 0; n < a.factors.size(); ++n) EXPECT_TRUE(same_bytes(a.factors[n], b.factors[n])) << n;
}

TEST(Deterministic, ModelsAreTheSameToTheBitOnAnyThreadsUnderAnyBudget) {
  // Modes of 2 and 3 rows have fewer rows than threads; the last shape needs keys.
  const std::pair<std::vector<std::uint64_t>, std::vector<Precision>> cases[] = {
      {{120, 140, 90}, {Precision::f64, Precision::f32, Precision::mixed}},
      {{2, 3, 4000}, {Precision::f32}},
      {{8192, 8000, 5000, 8191, 4097}, {Precision::f64}}};
  for (const auto& [shape, precisions] : cases) {
    const TemporaryFolder folder;
    const TensorFile tensor = ingest(folder, random_coordinates({.shape = shape, .nnz = 20'000, .seed = 4}));
    for (const Precision precision : precisions) {
      CpdOptions options{.rank = 5, .max_sweeps = 2, .tolerance = 0, .compute = {.precision = precision, .threads = 1}};
      options.compute.deterministic = true;
      const CpdModel expected = fit_cpd(tensor, options);
      for (const int threads : thread_counts) {
        options.compute.threads = threads;
        const std::uint64_t minimum = planned_minimum(tensor, options);
        expect_same_model(fit_cpd(tensor, options), expected);
        for (const std::uint64_t extra : {0u, 2'000'000u}) {
          SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(extra) + " bytes over the minimum");
          expect_same_model(fit_cpd(tensor, within({.host_bytes = minimum + extra}, options)), expected);
        }
      }
    }
  }
}

TEST(Deterministic, IsRefusedOnAGpu) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest(folder, random_coordinates({.shape = {5, 6}, .nnz = 20, .seed = 4}));
  CpdOptions options{.rank = 2, .compute = {.devices = {"cuda"}}};
  options.compute.deterministic = true;

  EXPECT_THROW(fit_cpd(tensor, options), Error);
  options.compute.devices = {};
  const DeclaredGpu gpu{.memory_bytes = std::uint64_t{1} << 30};
  EXPECT_THROW(plan_cpd(tensor, options, &gpu), Error);
  EXPECT_EQ(fit_cpd(tensor, options).rank, 2);
}

// Sums of the products and of their absolute values, nonzero by nonzero.
struct Sums {
  std::vector<double> sum;
  std::vector<double> absolute;
};

Sums sum_products(const CoordinateTensor& tensor, const std::vector<std::vector<double>>& factors, std::size_t rank,
                  std::size_t mode) {
  Sums sums{std::vector<double>(tensor.shape[mode] * rank), std::vector<double>(tensor.shape[mode] * rank)};
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    for (std::size_t r = 0; r < rank; ++r) {
      double product = tensor.values[i];
      for (std::size_t m = 0; m < tensor.shape.size(); ++m) {
        if (m != mode) product *= factors[m][tensor.points[i][m] * rank + r];
      }
      sums.sum[tensor.points[i][mode] * rank + r] += product;
      sums.absolute[tensor.points[i][mode] * rank + r] += std::abs(product);
    }
  }
  return sums;
}

TEST(Deterministic, MttkrpDependsOnThreadsAndBudgetsByRoundingOnly) {
  const TemporaryFolder folder;
  const CoordinateTensor coordinates = random_coordinates({.shape = {40, 3000, 7}, .nnz = 30'000, .seed = 9});
  const TensorFile tensor = ingest(folder, coordinates);
  for (const int rank : {3, 16}) {
    std::vector<std::vector<double>> factors;
    for (std::size_t m = 0; m < 3; ++m) {
      factors.emplace_back(coordinates.shape[m] * static_cast<std::size_t>(rank));
      fill_initial_rows(1, static_cast<int>(m), 0, rank, factors.back());
    }
    for (int mode = 0; mode < 3; ++mode) {
      const Sums expected =
          sum_products(coordinates, factors, static_cast<std::size_t>(rank), static_cast<std::size_t>(mode));
      for (const int threads : thread_counts) {
        for (const bool deterministic : {false, true}) {
          for (const std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{26} << 20}) {
            CpdOptions options{.compute = {.threads = threads}};
            options.compute.deterministic = deterministic;
            const std::vector<double> actual =
                mttkrp(tensor, matrix_views(factors, rank), mode, within({.host_bytes = budget}, options).compute);
            double worst = 0;
            for (std::size_t i = 0; i < actual.size(); ++i) {
              worst = std::max(worst, std::abs(actual[i] - expected.sum[i]) / std::max(expected.absolute[i], 1e-300));
            }
            EXPECT_LT(worst, 1e-12) << "mode " << mode << ", " << threads << " threads, budget " << budget;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace blco
