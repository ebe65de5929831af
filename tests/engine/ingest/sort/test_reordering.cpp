// Modes renumbered by falling count: the numbers, and that nobody outside the container sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/export.hpp>
#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/statistics.hpp>
#include <blco/verify.hpp>
#include <fstream>
#include <numeric>
#include <set>

#include "engine/ingest/sort/reordering.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/original_rows.hpp"
#include "kernels/device_kind.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/stream/named_budget.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CoordinateBatch batch_of(const std::vector<Point>& points) {
  CoordinateBatch batch;
  batch.order = static_cast<int>(points.front().size());
  batch.upper.assign(points.front().size(), 0);
  for (const Point& point : points) {
    for (std::size_t n = 0; n < point.size(); ++n) {
      batch.narrow.push_back(static_cast<std::uint32_t>(point[n]));
      batch.upper[n] = std::max(batch.upper[n], point[n]);
    }
    batch.values.push_back(1);
  }
  return batch;
}

// The order of a mode's indices by its definition.
std::vector<std::uint32_t> expected_order(const std::vector<Point>& points, std::size_t mode, std::uint64_t length) {
  std::vector<std::uint64_t> counts(length);
  for (const Point& point : points) ++counts[point[mode]];
  std::vector<std::uint32_t> order(length);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return counts[a] > counts[b]; });
  return order;
}

// Coordinates crowd at a few places that lie anywhere in the mode.
CoordinateTensor skewed_coordinates(const RandomTensor& options) {
  CoordinateTensor tensor = random_coordinates(options);
  for (std::size_t n = 0; n < options.shape.size(); ++n) {
    const std::uint64_t length = options.shape[n];
    for (Point& point : tensor.points) {
      const std::uint64_t low = point[n] * point[n] / length;
      point[n] = (low * 7919 + 12345) % length;
    }
  }
  return tensor;
}

TEST(Reordering, NumbersByFallingCountThenByIndex) {
  Reordering reordering;
  ThreadExecutor executor(2);
  const std::vector<Point> points = {{4, 0}, {1, 0}, {4, 1}, {2, 0}, {1, 1}, {4, 1}};

  reordering.count(batch_of(points), executor);
  reordering.finish(std::vector<std::uint64_t>{7, 2});

  EXPECT_EQ(reordering.original(0, 3), 0u);
  CoordinateBatch batch = batch_of(points);
  reordering.apply(batch);
  EXPECT_THAT(batch.narrow, ElementsAre(0, 0, 1, 0, 0, 1, 2, 0, 1, 1, 0, 1));
  EXPECT_THAT(reordering.take_originals(0), ElementsAre(4, 1, 2, 0, 3, 5, 6));
  EXPECT_THAT(reordering.take_originals(1), IsEmpty()) << "nothing changes";
}

TEST(Reordering, CountsBeyondTheTableOfCountsAndAcrossPages) {
  Reordering reordering;
  ThreadExecutor executor(1);
  constexpr std::uint64_t length = 40000;
  std::vector<Point> points;
  // Around 2^16 entries, where the sort of counts changes its way, the larger counts at the higher indices.
  for (const auto& [index, count] :
       {std::pair{20000, 65535}, {20001, 65536}, {30000, 65537}, {39999, 70000}, {3, 65536}}) {
    points.insert(points.end(), static_cast<std::size_t>(count), Point{static_cast<std::uint64_t>(index)});
  }
  for (std::uint64_t i = 0; i < length; i += 3) points.push_back({i});

  for (std::size_t first = 0; first < points.size(); first += 10000) {
    const std::size_t last = std::min(points.size(), first + 10000);
    reordering.count(batch_of({points.begin() + static_cast<std::ptrdiff_t>(first),
                               points.begin() + static_cast<std::ptrdiff_t>(last)}),
                     executor);
  }
  reordering.finish(std::vector<std::uint64_t>{length});

  EXPECT_EQ(reordering.take_originals(0), expected_order(points, 0, length));
}

TEST(Reordering, RefusesModesWhoseIndicesDoNotFit32Bits) {
  EXPECT_NO_THROW(Reordering::check_lengths(std::vector<std::uint64_t>{3, std::uint64_t{1} << 32}));
  expect_error(ErrorKind::invalid_argument, "`reorder = none`", [] {
    Reordering::check_lengths(std::vector<std::uint64_t>{3, (std::uint64_t{1} << 32) + 1});
  });
}

class ReorderedShapes : public testing::TestWithParam<std::vector<std::uint64_t>> {
 protected:
  static IngestOptions options(Reorder reorder) {
    IngestOptions options;
    options.reorder = reorder;
    options.chunk_nnz = 700;
    options.shape = GetParam();
    return options;
  }

  TensorFile ingest(Reorder reorder) {
    const std::filesystem::path path = folder_ / (reorder == Reorder::none ? "plain.blco" : "reordered.blco");
    ingest_files({folder_.write("in.tns", as_text(tensor_))}, path, options(reorder));
    return TensorFile(path);
  }

  static CpdOptions fit_options(int sweeps) {
    return {.rank = 4, .max_sweeps = sweeps, .tolerance = 0, .seed = 5, .compute = {.devices = {"cpu"}, .threads = 1}};
  }

  static void expect_near(const CpdModel& actual, const CpdModel& expected) {
    ASSERT_EQ(actual.fit_history.size(), expected.fit_history.size());
    for (std::size_t sweep = 0; sweep < expected.fit_history.size(); ++sweep) {
      EXPECT_NEAR(actual.fit_history[sweep], expected.fit_history[sweep], 1e-10);
    }
    for (std::size_t n = 0; n < expected.factors.size(); ++n) {
      ASSERT_EQ(actual.factors[n].size(), expected.factors[n].size());
      for (std::size_t i = 0; i < expected.factors[n].size(); ++i) {
        ASSERT_NEAR(actual.factors[n][i], expected.factors[n][i], 1e-7) << "factor " << n << ", number " << i;
      }
    }
  }

  CoordinateTensor tensor_ = skewed_coordinates({.shape = GetParam(), .nnz = 3000, .seed = 21});
  CoordinateColumns<> columns_{tensor_};
  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Reordering, ReorderedShapes,
                         testing::Values(std::vector<std::uint64_t>{500, 300, 20}, std::vector<std::uint64_t>{4000},
                                         std::vector<std::uint64_t>{20, 1, 70000}, std::vector<std::uint64_t>(13, 33)));

TEST_P(ReorderedShapes, TheContainerHoldsTheInputByNewNumbers) {
  const TensorFile file = ingest(Reorder::frequency);

  CoordinateTensor stored = read_container(TensorChunks::of(file).name());
  for (std::size_t n = 0; n < tensor_.shape.size(); ++n) {
    std::vector<std::uint32_t> originals = TensorChunks::of(file).reordering(n);
    const std::vector<std::uint32_t> expected = expected_order(tensor_.points, n, tensor_.shape[n]);
    if (originals.empty()) {
      originals.resize(expected.size());
      std::iota(originals.begin(), originals.end(), 0u);
    }
    EXPECT_EQ(originals, expected);
    for (Point& point : stored.points) point[n] = originals[point[n]];
  }
  EXPECT_EQ(as_map(stored), summed(tensor_));
  EXPECT_EQ(file.summary().shape, tensor_.shape);
  EXPECT_NO_THROW(verify(file));
}

TEST_P(ReorderedShapes, ArraysBecomeTheBytesThatTextBecomes) {
  const TensorFile file = ingest(Reorder::frequency);

  ingest_coordinates(columns_.arrays(), folder_ / "arrays.blco", options(Reorder::frequency));

  EXPECT_EQ(file_contents(folder_ / "arrays.blco"), file_contents(TensorChunks::of(file).name()));
}

TEST_P(ReorderedShapes, ExportsAndStatisticsAreThoseOfTheInput) {
  const TensorFile plain = ingest(Reorder::none);
  const TensorFile file = ingest(Reorder::frequency);

  const auto exported = [&](const TensorFile& tensor) {
    export_text(tensor, folder_ / "out.tns");
    std::ifstream lines(folder_ / "out.tns");
    std::multiset<std::string> text;
    for (std::string line; std::getline(lines, line);) text.insert(line);
    return text;
  };
  EXPECT_EQ(exported(file), exported(plain));
  const TensorStatistics expected = measure_statistics(plain);
  const TensorStatistics statistics = measure_statistics(file);
  for (std::size_t n = 0; n < tensor_.shape.size(); ++n) {
    EXPECT_EQ(statistics.modes[n].histogram, expected.modes[n].histogram);
  }
}

TEST_P(ReorderedShapes, FitsAreThoseOfTheInput) {
  const TensorFile plain = ingest(Reorder::none);
  const TensorFile file = ingest(Reorder::frequency);
  const CpdModel expected = fit_cpd(plain, fit_options(6));

  expect_near(fit_cpd(file, fit_options(6)), expected);

  CpdOptions started = fit_options(3);
  started.initial = &expected;
  expect_near(fit_cpd(file, started), fit_cpd(plain, started));
}

TEST_P(ReorderedShapes, FitsInMemoryAreThoseOfTheContainerBitForBit) {
  const TensorFile file = ingest(Reorder::frequency);
  const MemoryTensor memory(columns_.arrays(), options(Reorder::frequency));
  const CpdModel expected = fit_cpd(file, fit_options(3));

  const CpdModel model = fit_cpd(memory, fit_options(3));

  EXPECT_EQ(memory.summary().reordered_modes, file.summary().reordered_modes);
  EXPECT_EQ(model.fit_history, expected.fit_history);
  EXPECT_EQ(model.factors, expected.factors);
}

TEST_P(ReorderedShapes, ProductsAreThoseOfTheInput) {
  const TensorFile plain = ingest(Reorder::none);
  const TensorFile file = ingest(Reorder::frequency);
  const CpdModel model = fit_cpd(plain, fit_options(1));
  for (int mode = 0; mode < static_cast<int>(tensor_.shape.size()); ++mode) {
    const CpdOptions options{.compute = {.devices = {"cpu"}, .threads = 1}};
    const std::vector<double> expected = mttkrp(plain, model.matrices(), mode, options.compute);
    const std::vector<double> product = mttkrp(file, model.matrices(), mode, options.compute);
    ASSERT_EQ(product.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(product[i], expected[i], 1e-10) << "mode " << mode;
  }
}

TEST_P(ReorderedShapes, CheckpointsGoFromOneToTheOther) {
  const TensorFile plain = ingest(Reorder::none);
  const TensorFile file = ingest(Reorder::frequency);
  CpdOptions whole = fit_options(6);
  whole.momentum = false;
  const CpdModel expected = fit_cpd(file, whole);

  for (const TensorFile* stopped : {&plain, &file}) {
    CpdOptions first = fit_options(3);
    first.momentum = false;
    first.checkpoint = folder_ / "checkpoint.h5";
    fit_cpd(*stopped, first);
    CpdOptions second = fit_options(6);
    second.resume = folder_ / "checkpoint.h5";
    expect_near(fit_cpd(plain, second), expected);
    const CpdModel model = fit_cpd(file, second);
    expect_near(model, expected);
    if (stopped == &file) {
      EXPECT_EQ(model.factors, expected.factors) << "bit for bit";
    }
  }
}

// Duals are saved in the container's order of rows.
TEST_P(ReorderedShapes, DualsOfACheckpointStayWithTheirContainer) {
  const TensorFile plain = ingest(Reorder::none);
  const TensorFile file = ingest(Reorder::frequency);
  const RowConstraint box{.set = RowSet::box, .lower = -0.3, .upper = 0.4};
  CpdOptions first = fit_options(2);
  first.method = AlsMethod{std::vector<RowConstraint>(tensor_.shape.size(), box)};
  first.checkpoint = folder_ / "duals.h5";
  fit_cpd(plain, first);
  CpdOptions second = fit_options(4);
  second.method = first.method;
  second.resume = folder_ / "duals.h5";
  CpdOptions whole = fit_options(4);
  whole.method = first.method;

  EXPECT_EQ(fit_cpd(plain, second).factors, fit_cpd(plain, whole).factors);
  if (file.summary().reordered_modes.empty()) return;
  expect_error(ErrorKind::invalid_argument, "stored in another order", [&] { fit_cpd(file, second); });
}

TEST_P(ReorderedShapes, RowsGoToADeviceAndBackByOriginalIndex) {
  const MemoryTensor memory(columns_.arrays(), options(Reorder::frequency));
  constexpr int rank = 3;
  ThreadExecutor executor(2);
  for (const bool on_device : {false, true}) {
    const auto backend = host_kind().make({.layout = TensorLayout(memory.summary().shape), .rank = rank}, executor);
    OriginalRows rows(TensorChunks::of(memory), *backend, rank, on_device);
    for (int mode = 0; mode < static_cast<int>(tensor_.shape.size()); ++mode) {
      const std::uint64_t length = tensor_.shape[static_cast<std::size_t>(mode)];
      std::vector<double> expected(length * rank);
      std::iota(expected.begin(), expected.end(), 1.0);
      const std::uint64_t half = length / 2 * rank;
      const std::span<const double> given = expected;
      rows.load(mode, 0, given.first(half));
      rows.load(mode, length / 2, given.subspan(half));

      std::vector<double> held(expected.size());
      backend->store_factor(mode, 0, held);
      const std::vector<std::uint32_t> originals =
          TensorChunks::of(memory).reordering(static_cast<std::uint64_t>(mode));
      for (std::size_t i = 0; i < originals.size(); ++i) {
        ASSERT_EQ(held[i * rank], expected[originals[i] * std::size_t{rank}]) << "stored row " << i;
      }
      std::vector<double> stored(expected.size());
      rows.store(mode, 0, std::span(stored).first(half));
      rows.store(mode, length / 2, std::span(stored).subspan(half));
      EXPECT_EQ(stored, expected);
      EXPECT_EQ(rows.take(mode), expected);
    }
  }
}

TEST(ReorderedIngest, NamesDuplicatesByTheirOriginalCoordinates) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "5 7 1\n3 7 1\n3 9 1\n1 7 1\n3 9 2\n");
  IngestOptions options;
  options.reorder = Reorder::frequency;
  options.duplicates = DuplicatePolicy::error;

  expect_error(ErrorKind::invalid_argument, "(3, 9)", [&] { ingest_files({text}, folder / "out.blco", options); });

  EXPECT_FALSE(std::filesystem::exists(folder / "out.blco"));
}

TEST(ReorderedIngest, RefusesAModeTooLongForTheBudgetAndNamesOneThatWouldDo) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "1 1 1\n2 5000000 1\n1 5000000 1\n");
  IngestOptions options;
  options.reorder = Reorder::frequency;
  options.memory_bytes = std::uint64_t{20} << 20;

  options.memory_bytes = named_budget([&] { ingest_files({text}, folder / "out.blco", options); });

  EXPECT_GT(options.memory_bytes, 5000000u * 8);
  EXPECT_THAT(ingest_files({text}, folder / "out.blco", options).reordered_modes, ElementsAre(1));
  options.reorder = Reorder::none;
  options.memory_bytes = std::uint64_t{20} << 20;
  EXPECT_THAT(ingest_files({text}, folder / "out.blco", options).reordered_modes, IsEmpty());
}

TEST(ReorderedIngest, RefusesCoordinatesThatDoNotFit32Bits) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "1 1 1\n2 4294967297 1\n");
  IngestOptions options;
  options.reorder = Reorder::frequency;

  expect_error(ErrorKind::invalid_argument, "mode 1", [&] { ingest_files({text}, folder / "out.blco", options); });

  EXPECT_FALSE(std::filesystem::exists(folder / "out.blco"));
}

TEST(ReorderedIngest, RefusesABadLineAndLeavesNothing) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "3 1 1\n2 4 1\n2 x 1\n");
  IngestOptions options;
  options.reorder = Reorder::frequency;

  expect_error(ErrorKind::invalid_argument, "line 3", [&] { ingest_files({text}, folder / "out.blco", options); });

  EXPECT_FALSE(std::filesystem::exists(folder / "out.blco"));
}

}  // namespace
}  // namespace blco
