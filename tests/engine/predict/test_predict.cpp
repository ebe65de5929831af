// Prediction against a dense loop: of text, containers and memory, in order, with any threads; and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <map>

#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/predict/predicted_model.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::HasSubstr;

void expect_predictions(const CpdModel& model, const CoordinateTensor& tensor, const CollectedPredictions& actual) {
  ASSERT_EQ(actual.points, tensor.points);
  ASSERT_EQ(actual.values, tensor.values);
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    const double expected = value_by_loop(model, tensor.points[i]);
    ASSERT_NEAR(actual.model[i], expected, 1e-13 * model.rank) << i;
    const double residual = tensor.values[i] - expected;
    ASSERT_NEAR(actual.deviances[i], residual * residual, 1e-11 * (1 + residual * residual)) << i;
  }
}

class EveryRank : public testing::TestWithParam<int> {};

// 33000 entries are more than a block, and chunks of 9000 more than a batch.
TEST_P(EveryRank, TextAndContainersHaveTheValuesOfALoop) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> shape{300, 7, 50};
  const CpdModel model = model_to_predict(shape, GetParam(), 3);
  const auto tensor = random_coordinates({.shape = shape, .nnz = 33'000, .seed = 4});
  const auto text = folder.write("in.tns", as_text(tensor));
  ingest_files({text}, folder / "in.blco", {.shape = shape, .chunk_nnz = 9000});
  const CoordinateTensor stored = read_container(folder / "in.blco");

  CollectedPredictions of_text;
  const PredictSummary summary = predict(model, text, of_text.sink());
  CollectedPredictions of_container;
  predict(model, folder / "in.blco", of_container.sink());

  expect_predictions(model, tensor, of_text);
  expect_predictions(model, stored, of_container);
  EXPECT_EQ(summary.entries, 33'000u);
  EXPECT_EQ(summary.written_entries, 33'000u);
}

INSTANTIATE_TEST_SUITE_P(Predict, EveryRank, testing::Values(1, 15, 16, 17, 40));

class FourModes : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::vector<std::uint64_t> shape_{40, 30, 20, 3};
  CpdModel model_ = model_to_predict(shape_, 5, 8, true);
  CoordinateTensor tensor_ = random_coordinates({.shape = shape_, .nnz = 5000, .seed = 9, .counts = true});
  std::filesystem::path text_ = folder_.write("in.tns", as_text(tensor_));

  PredictSummary predict_text(CollectedPredictions& to, const PredictOptions& options = {}) {
    return predict(model_, text_, to.sink(), options);
  }
};

TEST_F(FourModes, TheSummaryIsThatOfTheEntries) {
  CollectedPredictions all;
  const PredictSummary summary = predict_text(all, {.loss = Loss{LossKind::poisson}});

  double squares = 0, magnitudes = 0, deviances = 0;
  std::vector<double> residuals;
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    residuals.push_back(all.values[i] - all.model[i]);
    squares += residuals[i] * residuals[i];
    magnitudes += std::abs(residuals[i]);
    deviances += all.deviances[i];
  }
  EXPECT_NEAR(summary.sum_of_squares, squares, 1e-9 * squares);
  EXPECT_NEAR(summary.rmse(), std::sqrt(squares / 5000), 1e-9);
  EXPECT_NEAR(summary.mean_absolute_error(), magnitudes / 5000, 1e-9);
  EXPECT_NEAR(summary.sum_of_deviances, deviances, 1e-9 * deviances);
  EXPECT_EQ(summary.max_deviance, *std::ranges::max_element(all.deviances));
  EXPECT_EQ(summary.min_residual, *std::ranges::min_element(residuals));
  EXPECT_EQ(summary.max_residual, *std::ranges::max_element(residuals));
  EXPECT_EQ(summary.min_model, *std::ranges::min_element(all.model));
  EXPECT_EQ(summary.max_model, *std::ranges::max_element(all.model));
  EXPECT_EQ(summary.impossible_entries, 0u);
  EXPECT_EQ(summary.input_format, "FROSTT text");
}

// Powers of two change no other bit, and gamma, which knows no unit, has no deviance where a model is exact.
TEST_F(FourModes, DeviancesCountInTheUnitOfTheTensorOfTheModel) {
  CoordinateTensor exact = tensor_;
  model_.tensor_nnz = exact.points.size();
  for (std::size_t i = 0; i < exact.points.size(); ++i) {
    exact.values[i] = value_by_loop(model_, exact.points[i]);
    model_.tensor_sum_of_squares += exact.values[i] * exact.values[i];
  }
  std::map<LossKind, PredictSummary> in_usual_unit;
  for (const int exponent : {0, -40, 60, -300}) {
    CpdModel model = model_;
    for (double& weight : model.weights) weight = std::ldexp(weight, exponent);
    model.tensor_sum_of_squares = std::ldexp(model.tensor_sum_of_squares, 2 * exponent);
    CoordinateTensor scaled = exact;
    for (double& value : scaled.values) value = std::ldexp(value, exponent);
    const MemoryTensor tensor(CoordinateColumns<>(scaled).arrays(), {.duplicates = DuplicatePolicy::last});
    for (const LossKind kind : {LossKind::gamma, LossKind::rayleigh, LossKind::poisson}) {
      CollectedPredictions all;
      const PredictSummary summary = predict(model, tensor, all.sink(), {.loss = Loss{kind}});

      const PredictSummary& usual = in_usual_unit.try_emplace(kind, summary).first->second;
      const double unit = kind == LossKind::poisson ? std::ldexp(1.0, exponent) : 1.0;
      EXPECT_EQ(summary.sum_of_deviances, usual.sum_of_deviances * unit) << exponent;
      EXPECT_EQ(summary.max_deviance, usual.max_deviance * unit) << exponent;
      if (kind == LossKind::gamma) {
        EXPECT_LT(summary.sum_of_deviances, 1e-9);
      }
    }
  }
}

TEST_F(FourModes, ThreadsAndMemoryChangeNoBitOfAnEntry) {
  CollectedPredictions one;
  const PredictSummary of_one = predict_text(one, {.threads = 1});
  CollectedPredictions five;
  const PredictSummary of_five = predict_text(five, {.threads = 5});
  CollectedPredictions little;
  const PredictSummary of_little = predict_text(little, {.memory_bytes = 4 << 20, .threads = 1});

  EXPECT_EQ(one.model, five.model);
  EXPECT_EQ(one.deviances, five.deviances);
  EXPECT_EQ(of_one.sum_of_squares, of_five.sum_of_squares);
  EXPECT_EQ(of_one.sum_of_deviances, of_five.sum_of_deviances);
  EXPECT_EQ(of_one.sum_of_squares, of_little.sum_of_squares);
  EXPECT_EQ(one.model, little.model);
  EXPECT_EQ(one.points, little.points);
}

TEST_F(FourModes, EntriesOfEqualCoordinatesBecomeOneAsInTheTensorOfTheModel) {
  const std::vector<std::uint64_t> shape{30, 20, 25};
  CpdModel model = model_to_predict(shape, 5, 8);
  const auto tensor = random_coordinates({.shape = shape, .nnz = 400'000, .seed = 10, .counts = true});
  const auto text = folder_.write("repeated.tns", as_text(tensor));
  const std::map<Point, double> sums = summed(tensor);
  model.reading.duplicates = DuplicatePolicy::sum;

  // The second budget holds an eighth of the entries.
  for (const std::uint64_t budget : {std::uint64_t{1} << 30, std::uint64_t{6} << 20}) {
    CollectedPredictions folded;
    const PredictSummary summary = predict(
        model, text, folded.sink(), {.temporary_directory = folder_.path(), .memory_bytes = budget, .threads = 1});

    EXPECT_EQ(as_map({shape, folded.points, folded.values}), sums);
    EXPECT_EQ(folded.points.size(), sums.size());
    for (std::size_t i = 0; i < folded.points.size(); i += 100) {
      EXPECT_NEAR(folded.model[i], value_by_loop(model, folded.points[i]), 1e-12);
    }
    EXPECT_EQ(summary.folded_entries, 400'000u);
    EXPECT_EQ(summary.entries, sums.size());
    EXPECT_EQ(summary.repeated_entries, 0u);
  }
}

TEST_F(FourModes, EntriesThatStayByThemselvesAreToldToRepeat) {
  const std::size_t cells = summed(tensor_).size();
  CollectedPredictions all;

  const PredictSummary without_memory = predict_text(all);
  model_.reading.duplicates = DuplicatePolicy::sum;
  const PredictSummary each = predict_text(all, {.each_entry = true});

  EXPECT_EQ(without_memory.repeated_entries, 5000 - cells);
  EXPECT_EQ(each.repeated_entries, 5000 - cells);
  EXPECT_EQ(each.entries, 5000u);
  EXPECT_EQ(each.folded_entries, 0u);
}

TEST_F(FourModes, TheWorstAreThoseOfASort) {
  CollectedPredictions all;
  predict_text(all);
  std::vector<std::size_t> order(all.deviances.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return all.deviances[a] > all.deviances[b]; });

  CollectedPredictions worst;
  const PredictSummary summary = predict_text(worst, {.top = 100});

  ASSERT_EQ(worst.deviances.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(worst.points[i], all.points[order[i]]);
    EXPECT_EQ(worst.deviances[i], all.deviances[order[i]]);
    EXPECT_EQ(worst.model[i], all.model[order[i]]);
    EXPECT_EQ(worst.values[i], all.values[order[i]]);
  }
  EXPECT_EQ(summary.entries, 5000u);
  EXPECT_EQ(summary.written_entries, 100u);
}

TEST_F(FourModes, AReorderedContainerHasItsOwnIndices) {
  ingest_files({text_}, folder_ / "plain.blco", {.shape = shape_});
  ingest_files({text_}, folder_ / "reordered.blco", {.shape = shape_, .reorder = Reorder::frequency});
  const auto as_pairs = [&](const std::filesystem::path& file) {
    CollectedPredictions all;
    predict(model_, file, all.sink());
    std::map<Point, double> values;
    for (std::size_t i = 0; i < all.points.size(); ++i) values[all.points[i]] = all.model[i];
    return values;
  };

  EXPECT_EQ(as_pairs(folder_ / "reordered.blco"), as_pairs(folder_ / "plain.blco"));
}

TEST_F(FourModes, TensorsInMemoryAreEntriesToo) {
  const CoordinateColumns<> columns(tensor_);
  const MemoryTensor memory(columns.arrays(), {.shape = shape_, .chunk_nnz = 700});

  CollectedPredictions all;
  predict(model_, memory, all.sink());

  EXPECT_EQ(all.model.size(), memory.summary().nnz);
  for (std::size_t i = 0; i < all.points.size(); ++i) {
    EXPECT_NEAR(all.model[i], value_by_loop(model_, all.points[i]), 1e-12);
  }
}

TEST_F(FourModes, CoordinatesInMemoryGiveValues) {
  std::vector<std::int32_t> rows;
  for (const Point& point : tensor_.points) {
    for (const std::uint64_t at : point) rows.push_back(static_cast<std::int32_t>(at));
  }
  std::vector<IndexView> columns;
  for (std::size_t n = 0; n < 4; ++n) {
    columns.emplace_back(StridedView<std::int32_t>(rows.data() + n, tensor_.points.size(), 4));
  }
  const auto refuses = [&](const std::vector<std::int64_t>& last, const std::string& part) {
    const std::vector<std::uint32_t> zeros(2);
    expect_error(ErrorKind::invalid_argument, part, [&] {
      predict(model_, std::vector<IndexView>{zeros, zeros, zeros, last});
    });
  };

  const std::vector<double> values = predict(model_, columns, 2);

  ASSERT_EQ(values.size(), tensor_.points.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], value_by_loop(model_, tensor_.points[i]), 1e-12);
  refuses({2, 3}, "entry 1: the coordinate 3 in mode 3 is not below the mode's length of 3");
  refuses({2, -1}, "entry 1: the coordinate -1 in mode 3 is negative");
  refuses({2}, "there are 1 coordinates of mode 3, but 2 of mode 0");
  columns.pop_back();
  expect_error(ErrorKind::invalid_argument, "coordinates of 3 modes, but the model has 4",
               [&] { predict(model_, columns); });
}

TEST_F(FourModes, AnIndexBeyondTheModelIsNamedOrLeftOut) {
  std::string lines = "# a comment\n";
  for (int i = 0; i < 3000; ++i) lines += "1 2 3 1 5\n\n";
  const auto bad = folder_.write("bad.tns", lines + "1 31 3 1 5\n1 1 1 1 1\n");

  CollectedPredictions all;
  expect_error(ErrorKind::invalid_argument,
               "line 6002 of " + bad.string() + ": the coordinate 31 in mode 1 is beyond the length of 30",
               [&] { predict(model_, bad, all.sink()); });
  const PredictSummary summary = predict(model_, bad, {}, {.skip_unknown = true});

  EXPECT_EQ(summary.entries, 3001u);
  EXPECT_EQ(summary.unknown_entries, 1u);
}

TEST_F(FourModes, LinesMayHaveNoValues) {
  std::string lines;
  for (const Point& point : tensor_.points) {
    for (std::size_t n = 0; n < 4; ++n) lines += std::to_string(point[n]) + (n == 3 ? "\n" : " ");
  }
  const auto bare = folder_.write("bare.tns", lines);

  CollectedPredictions all;
  const PredictSummary summary = predict(model_, bare, all.sink(), {.without_values = true, .index_base = 0});

  EXPECT_EQ(all.points, tensor_.points);
  EXPECT_TRUE(all.values.empty());
  EXPECT_TRUE(all.deviances.empty());
  EXPECT_NEAR(all.model[4999], value_by_loop(model_, tensor_.points[4999]), 1e-12);
  EXPECT_FALSE(summary.has_values);
  expect_error(ErrorKind::invalid_argument, "`top` needs values",
               [&] { predict(model_, bare, {}, {.top = 3, .without_values = true}); });
}

TEST_F(FourModes, ModelsBelowZeroAreImpossibleForCounts) {
  model_.weights = {1, 0, 0, 0, 0};
  for (double& number : model_.factors[0]) number = -number;

  const PredictSummary summary = predict(model_, text_, {}, {.loss = Loss{LossKind::poisson}});

  EXPECT_EQ(summary.impossible_entries, 5000u);
  EXPECT_TRUE(std::isinf(summary.sum_of_deviances));
}

TEST_F(FourModes, RefusesValuesThatTheLossDoesNotTake) {
  const auto bad = folder_.write("bad.tns", "1 1 1 1 2\n2 2 2 2 -0.5\n");
  expect_error(ErrorKind::invalid_argument, "line 2 of " + bad.string() + ": the value is -0.5, but the loss poisson",
               [&] { predict(model_, bad, {}, {.loss = Loss{LossKind::poisson}}); });
}

TEST_F(FourModes, AZeroHasNoRatioWhereTheLossTakesNumbersAbove0) {
  const auto with_zero = folder_.write("zero.tns", "1 1 1 1 2\n2 2 2 2 0\n3 3 3 3 5\n");
  const auto without = folder_.write("without.tns", "1 1 1 1 2\n3 3 3 3 5\n");
  for (const Loss loss : {Loss{LossKind::gamma}, Loss{LossKind::rayleigh}, Loss{LossKind::beta, -1}}) {
    CollectedPredictions all, positive, worst;
    const PredictSummary summary = predict(model_, with_zero, all.sink(), {.loss = loss});
    const PredictSummary of_positive = predict(model_, without, positive.sink(), {.loss = loss});
    predict(model_, with_zero, worst.sink(), {.loss = loss, .top = 3});

    ASSERT_EQ(all.model.size(), 3u);
    EXPECT_NEAR(all.model[1], value_by_loop(model_, {1, 1, 1, 1}), 1e-12);
    EXPECT_EQ(all.values[1], 0);
    EXPECT_TRUE(std::isnan(all.deviances[1]));
    EXPECT_EQ(summary.entries_without_deviance, 1u);
    EXPECT_EQ(summary.sum_of_deviances, of_positive.sum_of_deviances);
    EXPECT_EQ(summary.max_deviance, of_positive.max_deviance);
    EXPECT_NEAR(summary.sum_of_squares, of_positive.sum_of_squares + all.model[1] * all.model[1], 1e-9);
    EXPECT_EQ(worst.values.size(), 2u);
  }
  std::string table;
  const TextSink append = [&](std::string_view text) { table += text; };
  write_predictions(model_, with_zero, append, TextFormat::csv, {.loss = Loss{LossKind::gamma}});
  EXPECT_THAT(table, testing::ContainsRegex("\n2,2,2,2,0,[^,]+,-[^,]+,\n"));
  const auto bad = folder_.write("bad.tns", "1 1 1 1 -2\n");
  expect_error(ErrorKind::invalid_argument, "the value is -2, but the loss gamma takes numbers above 0",
               [&] { predict(model_, bad, {}, {.loss = Loss{LossKind::gamma}}); });
}

TEST_F(FourModes, AModelInAFilePredictsAsInMemory) {
  save(model_, folder_ / "model.h5");
  CollectedPredictions of_memory, of_file;
  predict(model_, text_, of_memory.sink());

  predict(folder_ / "model.h5", text_, of_file.sink());

  EXPECT_EQ(of_file.model, of_memory.model);
  EXPECT_EQ(of_file.deviances, of_memory.deviances);
}

// By labels of many sizes; the least budget that a message names suffices.
TEST_F(FourModes, AModelInAFileIsRefusedAsOneInMemory) {
  for (const std::uint64_t length : shape_) {
    std::vector<std::string> labels;
    for (std::uint64_t i = 0; i < length; ++i) labels.push_back(std::string(i + 1, 'x'));
    model_.labels.emplace_back(labels);
  }
  save(model_, folder_ / "model.h5");
  ingest_files({text_}, folder_ / "in.blco", {.shape = shape_});
  const auto table = folder_.write("in.csv", "m0,m1,m2,m3\nx,xx,x,xxx\n");
  for (const std::filesystem::path& entries : {text_, table, folder_ / "in.blco"}) {
    PredictOptions options{.memory_bytes = 1000, .threads = 1};
    const std::string in_memory =
        message_of_error(ErrorKind::out_of_memory, [&] { predict(model_, entries, {}, options); });
    const std::string in_file =
        message_of_error(ErrorKind::out_of_memory, [&] { predict(folder_ / "model.h5", entries, {}, options); });
    EXPECT_EQ(in_file, in_memory);
    options.memory_bytes = 1024 * std::stoull(in_file.substr(in_file.find("memory_bytes = ") + 15));
    EXPECT_GT(predict(folder_ / "model.h5", entries, {}, options).entries, 0u);
  }
}

TEST_F(FourModes, RefusesOtherTensorsAndBudgets) {
  ingest_files({folder_.write("two.tns", "1 1 1\n2 2 2\n")}, folder_ / "two.blco", {});
  expect_error(ErrorKind::invalid_argument, "has 2 modes, but the model has 4",
               [&] { predict(model_, folder_ / "two.blco", {}); });
  ingest_files({text_}, folder_ / "long.blco", {.shape = {40, 31, 20, 3}});
  expect_error(ErrorKind::invalid_argument, "has the length 31, but that of the model has 30",
               [&] { predict(model_, folder_ / "long.blco", {}); });
  EXPECT_EQ(predict(model_, folder_ / "long.blco", {}, {.skip_unknown = true}).unknown_entries, 0u);
  expect_error(ErrorKind::out_of_memory,
               "`memory_bytes = ", [&] { predict(model_, text_, {}, {.memory_bytes = 1000}); });
  expect_error(ErrorKind::out_of_memory, "for the entries of `top`",
               [&] { predict(model_, text_, {}, {.top = 1 << 20, .memory_bytes = 16 << 20}); });
  expect_error(ErrorKind::invalid_argument, "the parameter of `loss = huber:0`", [&] {
    predict(model_, text_, {}, {.loss = Loss{LossKind::huber, 0}});
  });
  model_.weights.pop_back();
  expect_error(ErrorKind::invalid_argument, "one weight per component", [&] { predict(model_, text_, {}); });
}

TEST_F(FourModes, ACancelledJobLeavesNothing) {
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder_.path()), {}); };
  const auto before = files();

  expect_error(ErrorKind::cancelled, "cancelled", [&] {
    write_predictions(model_, text_, folder_ / "out.csv", {}, [](const Progress&) { return false; });
  });
  expect_error(ErrorKind::invalid_argument, "name a file that ends in .csv or .tsv",
               [&] { write_predictions(model_, text_, folder_ / "out.tns"); });

  EXPECT_EQ(files(), before);
}

TEST_F(FourModes, ReportsTheWholeAtTheEnd) {
  Progress last;
  write_predictions(model_, text_, folder_ / "out.tsv.gz", {}, [&](const Progress& progress) {
    last = progress;
    return true;
  });

  EXPECT_STREQ(last.stage, "predict");
  EXPECT_EQ(last.share, 1);
  EXPECT_EQ(last.nonzeros, 5000u);
}

}  // namespace
}  // namespace blco
