// TTM and TTMc side by side: outputs that are right, work by hand, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>

#include "blco/error.hpp"
#include "tests/bench/measure/product_benchmark.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CpdOptions product_options(int rank) { return {.rank = rank, .compute = {.devices = {"cpu"}, .threads = 2}}; }

std::vector<std::string> names_of(const FormatReport& report) {
  std::vector<std::string> names;
  for (const MeasuredFormat& format : report.formats) names.push_back(format.name);
  return names;
}

void expect_measured(const FormatReport& report, std::size_t modes) {
  for (const MeasuredFormat& format : report.formats) {
    EXPECT_EQ(format.refusal, "") << format.name;
    EXPECT_TRUE(report.is_right(format)) << format.name << " " << format.largest_error();
    EXPECT_EQ(format.passes.size(), modes) << format.name;
    for (const FormatPass& pass : format.passes) {
      EXPECT_GT(pass.min_seconds, 0) << format.name;
      EXPECT_LE(pass.min_seconds, pass.seconds) << format.name;
      EXPECT_GT(pass.bytes, 0) << format.name;
      EXPECT_GT(pass.set_bytes, 0) << format.name;
      EXPECT_GE(pass.flops, pass.nominal_flops) << format.name;
    }
  }
}

TEST(ProductBenchmark, FindsEveryTtmRight) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{40, 50}, {50, 60, 70}, {9, 20, 30, 40}}) {
    const CoordinateTensor coordinates = random_coordinates({.shape = shape, .nnz = 3000, .seed = 4});
    const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());

    const FormatReport report = benchmark_product(tensor, TensorProduct::ttm, 1, product_options(5));

    EXPECT_THAT(names_of(report), ElementsAre("ours", "ours-fibers", "csf-element", "csf-fiber"));
    expect_measured(report, shape.size());
    for (const MeasuredFormat& format : report.formats) {
      EXPECT_EQ(format.passes[0].flops, 2.0 * static_cast<double>(report.nnz) * 5) << format.name;
    }
  }
}

// Mode 2 has two indices, so that its matrix has two columns.
TEST(ProductBenchmark, FindsEveryTtmcRight) {
  const CoordinateTensor coordinates = random_coordinates({.shape = {50, 60, 2, 30}, .nnz = 3000, .seed = 5});
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());

  const FormatReport report = benchmark_product(tensor, TensorProduct::ttmc, 1, product_options(5));

  EXPECT_THAT(names_of(report), ElementsAre("ours", "slabs"));
  expect_measured(report, 4);
  const auto nnz = static_cast<double>(report.nnz);
  EXPECT_EQ(report.formats[0].passes[0].nominal_flops, 2 * nnz * 5 * 2 * 5);
  EXPECT_EQ(report.formats[0].passes[2].nominal_flops, 2 * nnz * 125);
  // 5 products and 25 of them with another row's numbers, which 5 numbers multiply and add.
  EXPECT_EQ(report.formats[0].passes[2].flops, nnz * (5 + 25 + 2 * 125));
  EXPECT_EQ(report.formats[1].passes[2].flops, nnz * 4 * 180);  // three MTTKRPs of 60 columns
}

TEST(ProductBenchmark, SaysWhatDoesNotFit) {
  const CoordinateTensor coordinates = random_coordinates({.shape = {3000, 60, 70}, .nnz = 3000, .seed = 5});
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());
  CpdOptions options = product_options(16);
  options.compute.memory.host_bytes = std::uint64_t{27} << 20;

  const FormatReport report = benchmark_product(tensor, TensorProduct::ttmc, 1, options);

  EXPECT_THAT(report.formats[0].refusal, HasSubstr("no whole unfolding"));
  EXPECT_EQ(report.formats[1].refusal, "");
  EXPECT_TRUE(report.is_right(report.formats[1]));
}

TEST(ProductBenchmark, RefusesWhatItDoesNotMeasure) {
  const CoordinateTensor coordinates = random_coordinates({.shape = {9, 8}, .nnz = 20});
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());
  const auto message_of = [&](TensorProduct product, int repeats, const CpdOptions& options) -> std::string {
    try {
      benchmark_product(tensor, product, repeats, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CpdOptions other = product_options(2);

  EXPECT_THAT(message_of(TensorProduct::ttmc, 1, other), HasSubstr("three modes or more, and this one has 2"));
  EXPECT_THAT(message_of(TensorProduct::ttm, 0, other), HasSubstr("at least 1"));
  EXPECT_THAT(message_of(TensorProduct::mttkrp, 1, other), HasSubstr("MTTKRP"));
  other.compute.devices = {"cuda"};
  EXPECT_THAT(message_of(TensorProduct::ttm, 1, other), HasSubstr("on the CPU"));
  other = product_options(2);
  other.compute.precision = Precision::f32;
  EXPECT_THAT(message_of(TensorProduct::ttm, 1, other), HasSubstr("in f64"));
}

}  // namespace
}  // namespace blco
