// Comparisons of formats: what they report, what they refuse, and that wrong outputs are seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "blco/error.hpp"
#include "engine/common/thread_pool.hpp"
#include "tests/bench/measure/format_benchmark.hpp"
#include "tests/bench/measure/mttkrp_oracle.hpp"
#include "tests/bench/measure/natural_tensor.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FormatBenchmark : public ::testing::Test {
 protected:
  FormatBenchmark() {
    const auto tensor = random_coordinates({.shape = {30, 20, 50}, .nnz = 900, .seed = 8});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", {.chunk_nnz = 200});
  }

  TensorFile tensor() const { return TensorFile(folder_ / "in.blco"); }

  static CpdOptions on_two_threads(Precision precision = Precision::f64) {
    CpdOptions options;
    options.rank = 5;
    options.compute.devices = {"cpu"};
    options.compute.precision = precision;
    options.compute.threads = 2;
    return options;
  }

  TemporaryFolder folder_;
};

TEST_F(FormatBenchmark, MeasuresEveryFormatAndFindsAllRight) {
  const FormatReport report = benchmark_formats(tensor(), {.repeats = 2}, on_two_threads());

  ASSERT_EQ(report.formats.size(), format_names().size());
  for (const MeasuredFormat& format : report.formats) {
    if (format.name == "alto" && !format.refusal.empty()) continue;  // a CPU without a fast pext
    EXPECT_THAT(format.refusal, IsEmpty()) << format.name;
    ASSERT_EQ(format.passes.size(), 3U) << format.name;
    EXPECT_TRUE(report.is_right(format)) << format.name << " " << format.largest_error();
    EXPECT_GT(format.index_bytes, 0U) << format.name;
    for (const FormatPass& pass : format.passes) {
      EXPECT_GE(pass.seconds, pass.min_seconds);
      EXPECT_EQ(pass.nominal_flops, 3.0 * static_cast<double>(report.nnz) * 5);
      EXPECT_GT(pass.flops, 0) << format.name;
      EXPECT_GT(pass.bytes, 0) << format.name;
    }
  }
}

TEST_F(FormatBenchmark, StreamsWhereAskedTo) {
  const FormatReport report = benchmark_formats(
      tensor(), {.formats = {"ours", "ours-packed", "ours-streamed"}, .repeats = 1}, on_two_threads());

  std::vector<std::string> settings;
  for (const MeasuredFormat& format : report.formats) settings.push_back(format.settings.substr(2));

  EXPECT_THAT(settings, ElementsAre("chunks decoded", "chunks packed", "chunks streamed"));
}

TEST_F(FormatBenchmark, TakesF32) {
  const FormatReport report =
      benchmark_formats(tensor(), {.formats = {"ours", "csf-all"}, .repeats = 1}, on_two_threads(Precision::f32));

  EXPECT_EQ(report.tolerance, 1e-5);
  for (const MeasuredFormat& format : report.formats) {
    EXPECT_TRUE(report.is_right(format)) << format.name;
    EXPECT_GT(format.largest_error(), 1e-12) << format.name;
  }
}

// A plain f32 sum of so many terms is off by more than 1e-5.
TEST_F(FormatBenchmark, AllowsForRoundingInLongRows) {
  std::string text;
  for (int i = 0; i < 400000; ++i)
    text += "1 " + std::to_string(i % 633 + 1) + ' ' + std::to_string(i / 633 + 1) + " 1\n";
  ingest_files({folder_.write("long.tns", text)}, folder_ / "long.blco", {});
  CpdOptions options = on_two_threads(Precision::f32);
  options.compute.threads = 1;

  const FormatReport report =
      benchmark_formats(TensorFile(folder_ / "long.blco"), {.formats = {"ours", "coo-single"}, .repeats = 1}, options);

  EXPECT_NEAR(report.tolerance, 0x1p-22 * std::sqrt(400000.0), 1e-12);
  for (const MeasuredFormat& format : report.formats) {
    EXPECT_TRUE(report.is_right(format)) << format.name << " " << format.largest_error();
  }
}

TEST(FormatReport, SaysWhichOutputsAreWrong) {
  FormatReport report;
  report.tolerance = 1e-12;
  MeasuredFormat format{.name = "csf-all"};
  format.passes = {{.mode = 0, .min_seconds = 0.5, .error = 1e-13}, {.mode = 1, .min_seconds = 0.25, .error = 3e-12}};
  format.build_seconds = 3;

  EXPECT_FALSE(report.is_right(format));
  EXPECT_EQ(format.sweep_seconds(), 0.75);
  EXPECT_EQ(format.build_sweeps(), 4);
  format.passes[1].error = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(report.is_right(format));
  format.passes[1].error = 0;
  EXPECT_TRUE(report.is_right(format));
}

TEST_F(FormatBenchmark, RefusesWhatItDoesNotKnow) {
  const auto message_of = [&](const FormatOptions& formats, const CpdOptions& options) -> std::string {
    try {
      benchmark_formats(tensor(), formats, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };

  EXPECT_THAT(message_of({.formats = {"csf-some"}}, on_two_threads()), HasSubstr("no format 'csf-some'"));
  EXPECT_THAT(message_of({.repeats = 0}, on_two_threads()), HasSubstr("at least 1"));
  EXPECT_THAT(message_of({}, on_two_threads(Precision::mixed)), HasSubstr("f64 or f32"));
}

TEST_F(FormatBenchmark, ReportsFormatsThatDoNotExistForTheTensor) {
  const auto vector = random_coordinates({.shape = {500}, .nnz = 100, .seed = 2});
  ingest_files({folder_.write("vector.tns", as_text(vector))}, folder_ / "vector.blco", {});

  const FormatReport report = benchmark_formats(TensorFile(folder_ / "vector.blco"),
                                                {.formats = {"ours", "csf-all"}, .repeats = 1}, on_two_threads());

  EXPECT_TRUE(report.is_right(report.formats[0]));
  EXPECT_THAT(report.formats[1].refusal, HasSubstr("csf-all has orders 2 to"));
}

TEST(MttkrpOracle, AddsByHand) {
  const std::vector<std::uint32_t> i{0, 0, 1};
  const std::vector<std::uint32_t> j{0, 1, 1};
  const std::vector<double> values{2, -3, 4};
  const RivalTensor tensor{{2, 2}, {i, j}, values};
  const std::vector<std::vector<double>> factors{{0, 0, 0, 0}, {1, 10, 2, 20}};
  ThreadPool pool(2);
  MttkrpOracle oracle(tensor, factors, 2, pool);

  oracle.compute(0);

  EXPECT_EQ(oracle.error_of(std::vector<double>{-4, -40, 8, 80}), 0);
  EXPECT_DOUBLE_EQ(oracle.error_of(std::vector<double>{-4, -40, 8, 84}), 0.05);
  EXPECT_DOUBLE_EQ(oracle.error_of(std::vector<double>{0, -40, 8, 80}), 0.5);  // of 2 + 6
  EXPECT_EQ(oracle.error_of(std::vector<double>{-4, -40, 8, std::numeric_limits<double>::quiet_NaN()}),
            std::numeric_limits<double>::infinity());
}

TEST_F(FormatBenchmark, DecodesToNaturalOrderWithTheTensorsOwnIndices) {
  const auto given = random_coordinates({.shape = {30, 20, 50}, .nnz = 900, .seed = 8});
  ingest_files({folder_.write("in.tns", as_text(given))}, folder_ / "reordered.blco",
               {.reorder = Reorder::frequency, .chunk_nnz = 200});
  const std::set<Point> expected(given.points.begin(), given.points.end());
  ThreadPool pool(2);

  const NaturalTensor natural = read_natural(TensorFile(folder_ / "reordered.blco"), pool);

  std::vector<Point> decoded;
  for (std::size_t i = 0; i < natural.values.size(); ++i) {
    decoded.push_back({natural.coordinates[0][i], natural.coordinates[1][i], natural.coordinates[2][i]});
  }
  EXPECT_TRUE(std::ranges::equal(decoded, expected));
}

}  // namespace
}  // namespace blco
