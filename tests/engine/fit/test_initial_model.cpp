// Starts from a model of a tensor that has grown: which models are accepted, and what the rows are that they lack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/fit/initial_factors.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using LabelLists = std::vector<std::vector<std::string>>;

class InitialModel : public testing::Test {
 protected:
  // 5x4x3, its last indices included; a list that is not empty names a mode's indices.
  TensorFile grown(const LabelLists& labels = {{}, {}, {}}, Reorder reorder = Reorder::none) {
    const CoordinateTensor tensor = random_coordinates({.shape = {5, 4, 3}, .nnz = 40, .seed = 3, .counts = true});
    IngestOptions options;
    options.mode_names = {"user", "item", "day"};
    options.shape = tensor.shape;
    options.reorder = reorder;
    for (std::size_t n = 0; n < labels.size(); ++n) {
      std::string lines;
      for (const std::string& label : labels[n]) lines += label + '\n';
      if (!lines.empty())
        options.label_files.push_back({std::to_string(n), folder_.write(std::to_string(n) + ".map", lines)});
    }
    ingest_files({folder_.write("t.tns", as_text(tensor))}, folder_ / "t.blco", options);
    return TensorFile(folder_ / "t.blco");
  }

  static CpdModel model(const std::vector<std::uint64_t>& shape, const LabelLists& labels = {}) {
    CpdModel model;
    model.shape = shape;
    model.rank = 2;
    model.weights = {1, 1};
    for (const std::uint64_t length : shape) {
      std::vector<double>& factor = model.factors.emplace_back();
      for (std::uint64_t i = 0; i < 2 * length; ++i) {
        const auto size = static_cast<double>(i);
        factor.push_back(i % 2 == 0 ? 1 + 0.5 * size : -0.25 * size);
      }
    }
    for (const std::vector<std::string>& list : labels) model.labels.emplace_back(list);
    return model;
  }

  static std::vector<std::uint64_t> new_rows(const TensorFile& tensor, const CpdModel& initial) {
    return plan_cpd(tensor, {.rank = 0, .initial = &initial}).new_rows;
  }

  static void expect_refused(const TensorFile& tensor, const CpdModel& initial, const std::string& words) {
    expect_error(ErrorKind::invalid_argument, words, [&] { fit_cpd(tensor, {.rank = 0, .initial = &initial}); });
    expect_error(ErrorKind::invalid_argument, words, [&] { plan_cpd(tensor, {.rank = 0, .initial = &initial}); });
  }

  TemporaryFolder folder_;
};

TEST_F(InitialModel, MayHaveFewerRowsThanTheTensor) {
  const TensorFile tensor = grown();
  const CpdModel shorter = model({3, 4, 2});
  const CpdModel whole = model({5, 4, 3});

  EXPECT_THAT(new_rows(tensor, shorter), ElementsAre(2, 0, 1));
  EXPECT_THAT(new_rows(tensor, whole), IsEmpty());
  EXPECT_THAT(plan_cpd(tensor, {.rank = 2}).new_rows, IsEmpty());
  const CpdModel fitted = fit_cpd(tensor, {.rank = 0, .max_sweeps = 3, .initial = &shorter});
  EXPECT_EQ(fitted.rank, 2);
  EXPECT_EQ(fitted.shape, tensor.summary().shape);
}

TEST_F(InitialModel, IsRefusedWithMoreRowsOrOtherModes) {
  const TensorFile tensor = grown();

  expect_refused(tensor, model({5, 5, 3}),
                 "mode 1 of the tensor has the length 4, but that of the initial model has 5");
  expect_refused(tensor, model({5, 4}), "has 2 modes, but the tensor has 3");
  CpdModel broken = model({3, 4, 2});
  broken.factors[2].resize(6);
  expect_refused(tensor, broken, "factor 2");
  broken = model({3, 4, 2});
  broken.factors[1][3] = std::numeric_limits<double>::quiet_NaN();
  expect_refused(tensor, broken, "factor 1 of the initial model has a number that is not finite");
  broken = model({3, 4, 2});
  broken.weights.clear();
  expect_refused(tensor, broken, "one weight per component");
  broken.weights = {1, std::numeric_limits<double>::infinity()};
  expect_refused(tensor, broken, "the list of weights of the initial model has a number that is not finite");
}

TEST_F(InitialModel, HasTheModesInTheOrderOfTheTensor) {
  const TensorFile tensor = grown();
  CpdModel initial = model({3, 3, 3});
  initial.mode_names = {"item", "user", "day"};
  CpdOptions options{.rank = 2, .initial = &initial};

  expect_error(ErrorKind::invalid_argument, "the modes of the initial model have another order",
               [&] { check_initial_model(tensor.summary(), options); });
  initial.mode_names = {"customer", "item", "day"};
  check_initial_model(tensor.summary(), options);
}

TEST_F(InitialModel, HasLabelsThatBeginThoseOfTheTensor) {
  const TensorFile tensor = grown({{"a", "b", "c", "d", "e"}, {}, {"x", "y", "z"}});

  EXPECT_THAT(new_rows(tensor, model({2, 4, 3}, {{"a", "b"}, {"any", "of", "these", "four"}, {"x", "y", "z"}})),
              ElementsAre(3, 0, 0));
  EXPECT_THAT(new_rows(tensor, model({2, 4, 2})), ElementsAre(3, 0, 1)) << "without labels, lengths count";
  expect_refused(tensor, model({2, 4, 2}, {{"a", "c"}, {}, {"x", "y"}}),
                 "label 2 of mode 'user' is 'c' in the initial model, but 'b' in the tensor");
  // As long as the tensor, but in another order.
  expect_refused(tensor, model({5, 4, 3}, {{"a", "b", "c", "d", "e"}, {}, {"x", "z", "y"}}),
                 "label 2 of mode 'day' is 'z'");
}

TEST_F(InitialModel, MayHaveLabelsThatTheTensorLacks) {
  const TensorFile tensor = grown();

  EXPECT_THAT(new_rows(tensor, model({2, 4, 3}, {{"a", "b"}, {}, {}})), ElementsAre(3, 0, 0));
}

// Uniform in [0, 1) times the square root of 3 has a mean square of 1.
TEST_F(InitialModel, LendsNewRowsTheSizeAndTheSignOfItsColumns) {
  const std::vector<double> factor = {1, -2, 0, 3, 2, 0, -2, 0, 0};

  const std::vector<double> scales = new_row_scales(factor, 3);

  ASSERT_EQ(scales.size(), 3u);
  EXPECT_DOUBLE_EQ(scales[0], std::sqrt(14.0));  // 1, 3, -2
  EXPECT_DOUBLE_EQ(scales[1], std::sqrt(8.0));   // -2, 2, 0: the sum is 0
  EXPECT_DOUBLE_EQ(std::abs(scales[2]), 0);
  EXPECT_DOUBLE_EQ(new_row_scales(std::vector<double>{-1, -1}, 1)[0], -std::sqrt(3.0));
}

TEST_F(InitialModel, HasItsEntriesOutsideABoxCounted) {
  CpdModel initial;
  initial.shape = {2, 1, 2};
  initial.rank = 2;
  initial.weights = {1, 10};
  initial.factors = {{0.5, 0.2, -1, 0.05}, {0, 2}, {0.5, 1, 1.5, -0.5}};
  const RowConstraint box{.set = RowSet::box, .lower = 0, .upper = 1};
  TensorSummary tensor;  // of values whose unit is 1
  tensor.shape = initial.shape;
  tensor.nnz = 1;
  tensor.sum_of_squares = 1;
  const auto outside = [&](const std::vector<RowConstraint>& constraints) {
    CpdOptions options{.initial = &initial};
    options.method = AlsMethod{constraints};
    return count_outside_box(tensor, options);
  };

  EXPECT_THAT(outside({box, {}, {}}), ElementsAre(1, 0, 0));
  EXPECT_THAT(outside({{}, {}, box}), ElementsAre(0, 0, 2)) << "its ends are in it";
  EXPECT_THAT(outside({box, box, box}), ElementsAre(2, 1, 2)) << "the weights are in the first mode: 0.2 is 2";
  EXPECT_THAT(outside({{}, {.set = RowSet::nonnegative}, {}}), IsEmpty());
  EXPECT_THAT(outside({{.set = RowSet::box, .lower = -1, .upper = 1}, {}, {}}), IsEmpty());
  EXPECT_THAT(outside({}), IsEmpty());
}

TEST_F(InitialModel, IsCompletedByTheRowsOfTheSeedInTheirPlaces) {
  const CpdModel shorter = model({3, 4, 2});
  for (const auto& [reorder, on_device] :
       {std::pair{Reorder::none, false}, {Reorder::frequency, false}, {Reorder::frequency, true}}) {
    const TensorFile tensor = grown({}, reorder);
    const auto backend = make_reference_backend({.layout = TensorLayout(tensor.summary().shape), .rank = 2});
    OriginalRows rows(TensorChunks::of(tensor), *backend, 2, on_device);

    load_initial_factors(tensor.summary(), {.rank = 2, .seed = 9, .initial = &shorter}, nullptr, rows);

    for (int n = 0; n < 3; ++n) {
      const auto mode = static_cast<std::size_t>(n);
      const std::vector<double>& old = shorter.factors[mode];
      std::vector<double> expected = old;
      std::vector<double> random(2 * tensor.summary().shape[mode]);
      fill_initial_rows(9, n, 0, 2, random);
      for (std::size_t i = old.size(); i < random.size(); ++i) {
        double squares = 0;
        for (std::size_t k = i % 2; k < old.size(); k += 2) squares += old[k] * old[k];
        const double size = std::sqrt(6 * squares / static_cast<double>(old.size()));
        expected.push_back(random[i] * (i % 2 == 0 ? size : -size));
      }
      const std::vector<double> loaded = rows.take(n);
      ASSERT_EQ(loaded.size(), expected.size());
      for (std::size_t i = 0; i < loaded.size(); ++i) EXPECT_DOUBLE_EQ(loaded[i], expected[i]) << n << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace blco
