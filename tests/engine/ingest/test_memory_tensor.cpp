// Tensors made of arrays: the same numbers as from a container, and refusals that name the entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/matrix_views.hpp"
#include "tests/engine/stream/named_budget.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/two_to.hpp"

namespace blco {
namespace {

std::vector<std::uint64_t> extent_of(const CoordinateTensor& tensor) {
  std::vector<std::uint64_t> extent(tensor.shape.size(), 0);
  for (const Point& point : tensor.points) {
    for (std::size_t n = 0; n < point.size(); ++n) extent[n] = std::max(extent[n], point[n] + 1);
  }
  return extent;
}

class MemoryTensorShapes : public testing::TestWithParam<std::vector<std::uint64_t>> {
 protected:
  CoordinateTensor tensor_ = random_coordinates({.shape = GetParam(), .nnz = 3000, .seed = 11});
  CoordinateColumns<> columns_{tensor_};
  TemporaryFolder folder_;
};

TEST_P(MemoryTensorShapes, ArraysBecomeTheContainerThatTextBecomes) {
  const auto text = folder_.write("in.tns", as_text(tensor_));
  ingest_files({text}, folder_ / "text.blco", {.chunk_nnz = 700});

  const IngestReport report = ingest_coordinates(columns_.arrays(), folder_ / "arrays.blco", {.chunk_nnz = 700});

  EXPECT_EQ(file_contents(folder_ / "arrays.blco"), file_contents(folder_ / "text.blco"));
  EXPECT_EQ(report.shape, extent_of(tensor_));
  EXPECT_EQ(report.entries_read, 3000);
}

// Of those whose factors are small.
class FittedShape : public MemoryTensorShapes {};

TEST_P(FittedShape, FitsInMemoryAreThoseOfTheContainerBitForBit) {
  const CpdOptions options{.rank = 5, .max_sweeps = 3, .tolerance = 0, .compute = {.devices = {"cpu"}, .threads = 1}};
  ingest_coordinates(columns_.arrays(), folder_ / "in.blco", {.chunk_nnz = 700});
  const TensorFile file(folder_ / "in.blco");

  const MemoryTensor memory(columns_.arrays(), {.chunk_nnz = 700});
  const CpdModel expected = fit_cpd(file, options);
  const CpdModel model = fit_cpd(memory, options);

  EXPECT_EQ(model.fit_history, expected.fit_history);
  EXPECT_EQ(model.weights, expected.weights);
  EXPECT_EQ(model.factors, expected.factors);
  EXPECT_EQ(memory.summary().nnz, file.summary().nnz);
  EXPECT_EQ(memory.summary().sum_of_squares, file.summary().sum_of_squares);
  EXPECT_EQ(memory.summary().index.streamed_bytes, file.summary().index.streamed_bytes);
  EXPECT_EQ(memory.summary().value.streamed_bytes, file.summary().value.streamed_bytes);
  EXPECT_EQ(memory.summary().file_bytes, 0);
}

const std::vector<std::vector<std::uint64_t>> fitted_shapes = {
    {5000}, {97, 101}, {30, 40, 50}, {two_to(18), two_to(18), two_to(18), two_to(18)}, {7, 5, 8, 3, 6, 4, 2}};
const std::vector<std::vector<std::uint64_t>> long_modes = {{two_to(33), 7, two_to(40)}};

INSTANTIATE_TEST_SUITE_P(MemoryTensor, MemoryTensorShapes, testing::ValuesIn(fitted_shapes));
INSTANTIATE_TEST_SUITE_P(LongModes, MemoryTensorShapes, testing::ValuesIn(long_modes));
INSTANTIATE_TEST_SUITE_P(MemoryTensor, FittedShape, testing::ValuesIn(fitted_shapes));

// From the definition, in a dense output.
std::vector<double> dense_mttkrp(const CoordinateTensor& tensor, const std::vector<std::vector<double>>& factors,
                                 std::size_t rank, std::size_t mode) {
  std::vector<double> output(tensor.shape[mode] * rank, 0.0);
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    for (std::size_t r = 0; r < rank; ++r) {
      double product = tensor.values[i];
      for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
        if (n != mode) product *= factors[n][tensor.points[i][n] * rank + r];
      }
      output[tensor.points[i][mode] * rank + r] += product;
    }
  }
  return output;
}

TEST(MemoryTensor, GivesTheMttkrpOfItsDefinition) {
  const CoordinateTensor tensor = random_coordinates({.shape = {40, 30, 20}, .nnz = 2000, .seed = 5});
  const CoordinateColumns<std::uint32_t> columns(tensor);
  std::vector<std::vector<double>> factors;
  for (const std::uint64_t length : tensor.shape) {
    factors.emplace_back();
    for (std::uint64_t i = 0; i < length * 3; ++i) factors.back().push_back(std::sin(static_cast<double>(7 * i + 1)));
  }

  const MemoryTensor memory(columns.arrays(), {.shape = tensor.shape, .chunk_nnz = 256});

  for (std::size_t mode = 0; mode < 3; ++mode) {
    const std::vector<double> expected = dense_mttkrp(tensor, factors, 3, mode);
    std::vector<MatrixView> views = matrix_views(factors, 3);
    views[mode] = {};
    const std::vector<double> actual = mttkrp(memory, views, static_cast<int>(mode));
    EXPECT_THAT(actual, testing::Pointwise(testing::DoubleNear(1e-11), expected));
  }
}

TEST(MemoryTensor, TakesBothWidthsAndMissingValues) {
  const CoordinateTensor tensor = random_coordinates({.shape = {400, 300, 200}, .nnz = 20'000, .seed = 6});
  CoordinateTensor ones = tensor;
  ones.values.assign(tensor.values.size(), 1.0);
  const TemporaryFolder folder;
  const CoordinateColumns<std::uint64_t> wide(ones);
  const CoordinateColumns<std::uint32_t> narrow(ones);
  CoordinateArrays mixed = narrow.arrays();
  mixed.coordinates[1] = wide.arrays().coordinates[1];
  mixed.values = {};
  CoordinateArrays without_values = narrow.arrays();
  without_values.values = {};
  const auto bytes_of = [&](const CoordinateArrays& arrays) {
    ingest_coordinates(arrays, folder / "out.blco");
    return file_contents(folder / "out.blco");
  };

  const std::string expected = bytes_of(wide.arrays());

  EXPECT_EQ(bytes_of(narrow.arrays()), expected);
  EXPECT_EQ(bytes_of(mixed), expected);
  EXPECT_EQ(bytes_of(without_values), expected);
}

template <class Number>
std::vector<IndexView> columns_of(const std::vector<Number>& matrix, std::size_t order) {
  std::vector<IndexView> columns;
  for (std::size_t n = 0; n < order; ++n) {
    columns.emplace_back(
        StridedView<Number>(matrix.data() + n, matrix.size() / order, static_cast<std::ptrdiff_t>(order)));
  }
  return columns;
}

TEST(MemoryTensor, TakesEveryIntegerTypeAndBothValueTypesWithStrides) {
  // More than a batch of the reader, with coordinates that only 64 bits hold.
  CoordinateTensor tensor = random_coordinates({.shape = {two_to(33), 300, 200}, .nnz = 300'000, .seed = 6});
  std::vector<std::int64_t> wide;
  std::vector<float> singles;
  std::vector<double> reversed;
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    for (const std::uint64_t at : tensor.points[i]) wide.push_back(static_cast<std::int64_t>(at));
    singles.push_back(static_cast<float>(tensor.values[i]));
    tensor.values[i] = singles.back();
  }
  reversed.assign(tensor.values.rbegin(), tensor.values.rend());
  const CoordinateColumns<std::uint64_t> plain(tensor);
  const CoordinateColumns<std::int32_t> cut(tensor);
  const TemporaryFolder folder;
  const auto bytes_of = [&](const CoordinateArrays& arrays) {
    ingest_coordinates(arrays, folder / "out.blco");
    return file_contents(folder / "out.blco");
  };
  CoordinateArrays mixed{columns_of(wide, 3), singles};
  mixed.coordinates[2] = cut.arrays().coordinates[2];
  CoordinateArrays backwards = plain.arrays();
  backwards.values = StridedView<double>(&reversed.back(), reversed.size(), -1);

  const std::string expected = bytes_of(plain.arrays());

  EXPECT_EQ(bytes_of({columns_of(wide, 3), singles}), expected);
  EXPECT_EQ(bytes_of(mixed), expected);
  EXPECT_EQ(bytes_of(backwards), expected);
}

TEST(MemoryTensor, CoalescesDuplicatesByThePolicy) {
  const std::vector<std::uint32_t> rows = {0, 1, 0, 0};
  const std::vector<double> values = {0.5, 4, -3, 0.25};
  const CoordinateArrays arrays{{rows, rows}, values};
  const auto squares = [&](DuplicatePolicy policy) {
    return MemoryTensor(arrays, {.duplicates = policy}).summary().sum_of_squares - 16;
  };

  EXPECT_EQ(squares(DuplicatePolicy::sum), 2.25 * 2.25);
  EXPECT_EQ(squares(DuplicatePolicy::first), 0.25);
  EXPECT_EQ(squares(DuplicatePolicy::last), 0.0625);
  EXPECT_EQ(squares(DuplicatePolicy::max), 0.25);
  EXPECT_THROW(squares(DuplicatePolicy::error), Error);
}

void expect_refused(const std::function<void()>& call, ErrorKind kind, const std::string& part) {
  try {
    call();
    FAIL() << "accepted, without " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(MemoryTensor, RefusesArraysThatAreNoTensorAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> three = {0, 5, 2};
  const std::vector<std::uint64_t> two = {0, 1};
  const std::vector<std::uint64_t> none;
  const std::vector<std::uint64_t> too_large = {0, std::numeric_limits<std::uint64_t>::max(), 0};
  const std::vector<double> values = {1, 2, 3};
  const std::vector<double> with_nan = {1, 2, std::nan("")};
  const std::vector<double> infinite = {-std::numeric_limits<double>::infinity(), 2, 3};
  const std::vector<double> zeros = {0, 0, 0};
  const auto refused = [&](const CoordinateArrays& arrays, const IngestOptions& options, const std::string& part) {
    expect_refused([&] { MemoryTensor(arrays, options); }, ErrorKind::invalid_argument, part);
    expect_refused([&] { ingest_coordinates(arrays, folder / "out.blco", options); }, ErrorKind::invalid_argument,
                   part);
    EXPECT_TRUE(folder.is_empty());
  };

  refused({}, {}, "no coordinate arrays");
  refused({{none, none}, {}}, {}, "no nonzeros");
  refused({{three, two}, {}}, {}, "mode 1 has 2 entries, but that of mode 0 has 3");
  refused({{three, three}, std::span(values).first(2)}, {}, "2 values for 3");
  refused({{three, three}, with_nan}, {}, "entry 2");
  refused({{three, three}, infinite}, {}, "entry 0");
  refused({{three, three}, zeros}, {}, "zero");
  refused({{three, three}, values}, {.shape = {6, 5}}, "the coordinate 5 in mode 1");
  refused({{three, three}, values}, {.shape = {6, 6, 6}}, "`shape` has 3 lengths");
  refused({{three, too_large}, values}, {}, "entry 1");
  const std::vector<std::int64_t> negative = {0, 5, -7};
  const std::vector<std::int32_t> narrow_negative = {4, -1, 0};
  refused({{three, negative}, values}, {}, "entry 2 of the coordinate arrays: the coordinate -7 in mode 1 is negative");
  refused({{three, narrow_negative}, values}, {.shape = {6, 5}}, "the coordinate -1 in mode 1 is negative");
  refused({{negative, three}, values}, {.shape = {two_to(60), 6}}, "the coordinate -7 in mode 0 is negative");
  refused({{narrow_negative, three}, values}, {.shape = {4, 6}}, "the coordinate 4 in mode 0 is not below");
  refused({{three, three}, values}, {.mode_names = {"only"}}, "`mode_names` has 1 name;");
  refused({std::vector<IndexView>(17, three), values}, {}, "order");
}

TEST(MemoryTensor, KeepsLabelsInMemoryAndInFiles) {
  const std::vector<std::uint32_t> rows = {0, 2, 1};
  const std::vector<std::int64_t> columns = {1, 0, 0};
  const std::vector<std::string> names = {"Ann", "Bob", "Cid", "Dot"};
  const CoordinateArrays arrays{{rows, columns}, {}, {Labels(names), Labels()}};
  const TemporaryFolder folder;

  const MemoryTensor memory(arrays);
  save(memory, folder / "saved.blco");
  ingest_coordinates(arrays, folder / "out.blco");

  EXPECT_THAT(memory.shape(), testing::ElementsAre(4, 2));
  EXPECT_EQ(file_contents(folder / "saved.blco"), file_contents(folder / "out.blco"));
  for (const std::vector<Labels>& labels : {memory.labels(), TensorFile(folder / "out.blco").labels()}) {
    ASSERT_EQ(labels.size(), 2u);
    EXPECT_EQ(labels[0], Labels(names));
    EXPECT_TRUE(labels[1].empty());
  }
  EXPECT_EQ(fit_cpd(memory, {.rank = 1, .max_sweeps = 1}).labels[0][3], "Dot");
}

TEST(MemoryTensor, RefusesLabelsThatAreNotOnePerIndex) {
  const std::vector<std::uint32_t> rows = {0, 2, 1};
  const Labels two(std::vector<std::string>{"Ann", "Bob"});
  const auto refused = [&](const std::vector<Labels>& labels, const IngestOptions& options, const std::string& part) {
    expect_refused([&] { MemoryTensor({{rows, rows}, {}, labels}, options); }, ErrorKind::invalid_argument, part);
  };

  refused({two}, {}, "labels of 1 modes, but 2 coordinate arrays");
  refused({Labels(), two}, {},
          "entry 1 of the coordinate arrays: the coordinate 2 in mode 1 is not below the mode's "
          "length of 2; coordinates count from 0; the mode is as long as its list of labels: give "
          "one per index");
  refused({two, Labels()}, {.shape = {3, 3}}, "mode 0 has 2 labels, but `shape` gives it a length of 3");
  refused({}, {.label_files = {{"0", "names.map"}}}, "`label_files` has no effect here");
}

TEST(MemoryTensor, NamesTheFirstBadEntryWhateverTheThreads) {
  std::vector<std::uint32_t> rows(600'000, 3);
  std::vector<double> values(rows.size(), 1.0);
  rows[599'999] = 10;
  values[300'123] = std::nan("");
  values[300'124] = std::nan("");

  for (const int threads : {1, 4}) {
    expect_refused(
        [&] {
          MemoryTensor({{rows, rows}, values}, {.threads = threads, .shape = {10, 10}});
        },
        ErrorKind::invalid_argument, "entry 300123");
  }
}

TEST(MemoryTensor, IsCountedInTheBudgetOfAJob) {
  const CoordinateTensor tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 200'000, .seed = 4});
  const CoordinateColumns<> columns(tensor);
  const TemporaryFolder folder;
  ingest_coordinates(columns.arrays(), folder / "in.blco", {.chunk_nnz = 10'000});
  const CpdOptions options{.rank = 4, .compute = {.devices = {"cpu"}, .threads = 1}};

  const MemoryTensor memory(columns.arrays(), {.chunk_nnz = 10'000});
  const CpdPlan in_memory = plan_cpd(memory, options);
  const CpdPlan on_disk = plan_cpd(TensorFile(folder / "in.blco"), options);

  const TensorSummary& summary = memory.summary();
  const std::uint64_t held = summary.index.streamed_bytes + summary.value.streamed_bytes;
  EXPECT_GE(in_memory.minimum_bytes + 2'000'000, on_disk.minimum_bytes + held);  // less the scratch for reading
  EXPECT_GT(in_memory.minimum_bytes, held);
  EXPECT_EQ(in_memory.disk_bytes_per_pass, 0);
  expect_refused([&] { fit_cpd(memory, within({.host_bytes = in_memory.minimum_bytes - 1}, options)); },
                 ErrorKind::out_of_memory, "");
}

TEST(MemoryTensor, FitsTheSameWithinTheLeastBudget) {
  const CoordinateTensor tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 200'000, .seed = 4});
  const MemoryTensor memory(CoordinateColumns<>(tensor).arrays(), {.chunk_nnz = 10'000});
  CpdOptions options{.rank = 4, .max_sweeps = 2, .tolerance = 0, .compute = {.devices = {"cpu"}, .threads = 1}};
  const std::uint64_t minimum = plan_cpd(memory, options).minimum_bytes;
  std::uint64_t streamed = 0;
  std::uint64_t bytes_read = 0;
  options.on_plan = [&](const CpdPlan& plan) { streamed = plan.streamed_chunks; };
  options.on_sweep = [&](const SweepReport& sweep) {
    bytes_read += sweep.bytes_read;
    return true;
  };
  const CpdModel expected = fit_cpd(memory, options);

  const CpdModel model = fit_cpd(memory, within({.host_bytes = minimum}, options));

  EXPECT_EQ(model.factors, expected.factors);
  EXPECT_GT(streamed, 10);
  EXPECT_EQ(bytes_read, 0);
}

TEST(MemoryTensor, NamesTheBudgetThatWouldDo) {
  const CoordinateTensor tensor = random_coordinates({.shape = {500, 600, 700}, .nnz = 100'000, .seed = 8});
  const CoordinateColumns<> columns(tensor);

  const std::uint64_t minimum = named_budget([&] { MemoryTensor(columns.arrays(), {.memory_bytes = two_to(20)}); });

  EXPECT_EQ(MemoryTensor(columns.arrays(), {.memory_bytes = minimum}).summary().shape.size(), 3);
  EXPECT_THROW(MemoryTensor(columns.arrays(), {.memory_bytes = minimum - 1024}), Error);
}

TEST(MemoryTensor, EveryStageTellsItsEndAndCanBeCancelled) {
  const CoordinateTensor tensor = random_coordinates({.shape = {50, 60, 70}, .nnz = 5000, .seed = 8});
  const CoordinateColumns<> columns(tensor);
  const TemporaryFolder folder;
  // A slow machine hears of a stage more than once.
  double share = 1;
  const auto record = [&share](std::vector<std::string>& stages) {
    return [&share, &stages](const Progress& progress) {
      if (stages.empty() || stages.back() != progress.stage) {
        EXPECT_EQ(share, 1) << "before " << progress.stage;
        stages.emplace_back(progress.stage);
      }
      share = progress.share;
      return true;
    };
  };
  std::vector<std::string> in_memory;
  std::vector<std::string> to_disk;

  MemoryTensor(columns.arrays(), {}, record(in_memory));
  ingest_coordinates(columns.arrays(), folder / "out.blco", {}, record(to_disk));

  EXPECT_EQ(share, 1);
  EXPECT_THAT(in_memory, testing::ElementsAre("read", "sort", "pack"));
  EXPECT_THAT(to_disk, testing::ElementsAre("read", "sort", "write"));
  std::filesystem::remove(folder / "out.blco");
  for (const std::string stage : {"read", "sort", "write"}) {
    const ProgressCallback cancel = [&](const Progress& progress) { return progress.stage != stage; };
    expect_refused([&] { ingest_coordinates(columns.arrays(), folder / "out.blco", {}, cancel); }, ErrorKind::cancelled,
                   stage);
    EXPECT_TRUE(folder.is_empty());
  }
}

TEST(MemoryTensor, Moves) {
  const CoordinateTensor tensor = random_coordinates({.shape = {50, 60, 70}, .nnz = 5000, .seed = 8});
  MemoryTensor first(CoordinateColumns<>(tensor).arrays(), {.mode_names = {"a", "b", "c"}});
  const std::uint64_t nnz = first.summary().nnz;

  const MemoryTensor moved = std::move(first);

  EXPECT_EQ(moved.summary().nnz, nnz);
  EXPECT_THAT(moved.summary().mode_names, testing::ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace blco
