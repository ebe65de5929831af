// The state of a checkpoint, with numbers that no fit writes, in files that are whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "blco/error.hpp"
#include "engine/model/resumed_state.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

class ResumedStates : public testing::Test {
 protected:
  // A checkpoint of three sweeps; the first number is that of the reordered modes.
  ModelFileReader checkpoint(const std::vector<double>& numbers, const std::vector<std::string>& matrices = {}) const {
    ModelFile model;
    model.shape = {2, 3};
    model.rank = 1;
    model.weights = {1};
    model.method = "apr";
    model.loss = {LossKind::poisson};
    model.objective_history = {3, 2, 1};
    model.state_numbers = {0};
    model.state_numbers.insert(model.state_numbers.end(), numbers.begin(), numbers.end());
    model.state_matrices = matrices;
    const auto rows = [](std::size_t, std::uint64_t, std::span<double> block) { std::ranges::fill(block, 0.5); };
    const auto state_rows = [](std::size_t matrix, std::size_t mode, std::uint64_t, std::span<double> block) {
      std::ranges::fill(block, static_cast<double>(10 * matrix + mode));
    };
    write_model_file(path_, model, ModelNumbers{rows, state_rows});
    return ModelFileReader(path_);
  }

  std::string complaint_of(const std::function<void()>& work) const {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string() + ": "));
      EXPECT_THAT(error.what(), testing::HasSubstr("`initial`"));
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "fit.ckpt";
};

TEST_F(ResumedStates, GiveTheirNumbersInOrderAndTheRowsOfTheirMatrices) {
  const ModelFileReader file = checkpoint({7, -0.25, 0x1p53}, {"first", "second"});
  ResumedState state(file, path_);

  state.require(3, {"first", "second"});
  EXPECT_EQ(state.reordered_modes(), 0);
  EXPECT_EQ(state.sweeps(), 3);
  EXPECT_TRUE(state.has_matrices());
  EXPECT_EQ(state.next_count("a", 7), 7);
  EXPECT_EQ(state.next_number("b"), -0.25);
  EXPECT_EQ(state.next_count("c"), std::uint64_t{1} << 53);
  std::vector<std::vector<double>> matrices;
  state.read_rows([&](std::size_t, std::size_t, std::uint64_t, std::span<const double> rows) {
    matrices.emplace_back(rows.begin(), rows.end());
  });

  EXPECT_THAT(matrices, testing::ElementsAre(testing::ElementsAre(0, 0), testing::ElementsAre(1, 1, 1),
                                             testing::ElementsAre(10, 10), testing::ElementsAre(11, 11, 11)));
}

TEST_F(ResumedStates, TakeNothingButWholeNumbersForCounts) {
  for (const double wrong : {-1.0, -1e-300, 0.5, 0x1p53 + 2, 0x1p63, 0x1p64, 1e300, -1e300}) {
    const ModelFileReader file = checkpoint({wrong});
    ResumedState state(file, path_);

    EXPECT_THAT(complaint_of([&] { state.next_count("the number of steps"); }),
                testing::AllOf(testing::HasSubstr("state/numbers[1], the number of steps, is "),
                               testing::HasSubstr("must be a whole number from 0 to 9007199254740992")))
        << wrong;
  }
  const ModelFileReader file = checkpoint({4});
  EXPECT_THAT(complaint_of([&] { ResumedState(file, path_).next_count("the best sweep", 3); }),
              testing::HasSubstr("is 4, but must be a whole number from 0 to 3"));
}

TEST_F(ResumedStates, RefuseNumbersBelowTheLeastOne) {
  const ModelFileReader file = checkpoint({-1.5});

  EXPECT_EQ(ResumedState(file, path_).next_number("the error", -1.5), -1.5);
  EXPECT_THAT(complaint_of([&] { ResumedState(file, path_).next_number("the error", -1); }),
              testing::HasSubstr("state/numbers[1], the error, is -1.5, but must be finite and at least -1"));
}

TEST_F(ResumedStates, RefuseOtherNumbersOfNumbersAndOtherMatrices) {
  const ModelFileReader file = checkpoint({1, 2}, {"dual"});
  ResumedState state(file, path_);
  const auto complaint = [&](std::size_t numbers, const std::vector<std::string>& matrices) {
    return complaint_of([&] { state.require(numbers, matrices); });
  };

  EXPECT_EQ(complaint(2, {"dual"}), "accepted");
  EXPECT_THAT(complaint(1, {"dual"}),
              testing::HasSubstr("has 3 numbers and the matrix 'dual', but method apr with loss "
                                 "poisson keeps 2 numbers and the matrix 'dual'"));
  EXPECT_THAT(complaint(3, {"dual"}), testing::HasSubstr("keeps 4 numbers"));
  EXPECT_THAT(complaint(2, {}), testing::HasSubstr("keeps 3 numbers;"));
  EXPECT_THAT(complaint(2, {"best"}), testing::HasSubstr("'best'"));
  EXPECT_THAT(complaint(2, {"dual", "dual"}), testing::HasSubstr("the matrices 'dual', 'dual'"));
  state.next_count("a");
  state.next_count("b");
  EXPECT_THAT(complaint_of([&] { state.next_count("the rises"); }), testing::HasSubstr("lacks the rises"));
}

TEST_F(ResumedStates, AreNotLookedAtWhereSweepsAndHistoryDisagree) {
  ModelFile model;
  model.fit_history = {0.1, 0.2};
  model.stated_sweeps = 2;
  check_sweeps(model, path_);
  model.stated_sweeps = 0;  // not said
  check_sweeps(model, path_);

  model.stated_sweeps = 3;
  EXPECT_THAT(complaint_of([&] { check_sweeps(model, path_); }), testing::HasSubstr("3 sweeps, but a history of 2"));
  model.stated_sweeps = 4;
  model.objective_history = {1, 2};
  EXPECT_NE(complaint_of([&] { check_sweeps(model, path_); }), "accepted");
}

}  // namespace
}  // namespace blco
