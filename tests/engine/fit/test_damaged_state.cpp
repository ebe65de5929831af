// Checkpoints with a state that no fit has saved, written by the library itself: their checksums are right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "io/container/model_file.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// A model file with its state, all in memory.
struct WholeCheckpoint {
  explicit WholeCheckpoint(const std::filesystem::path& path) : model(read_model_file(path)) {
    const ModelFileReader reader(path);
    matrices.resize(model.state_matrices.size(), std::vector<std::vector<double>>(model.shape.size()));
    reader.read_state([&](std::size_t matrix, std::size_t mode, std::uint64_t, std::span<const double> rows) {
      matrices[matrix][mode].insert(matrices[matrix][mode].end(), rows.begin(), rows.end());
    });
  }

  void write(const std::filesystem::path& path) const {
    const auto copy = [this](const std::vector<double>& from, std::uint64_t first, std::span<double> rows) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first * model.rank), rows.size(), rows.begin());
    };
    ModelNumbers numbers;
    numbers.factor_rows = [&](std::size_t mode, std::uint64_t first, std::span<double> rows) {
      copy(model.factors[mode], first, rows);
    };
    numbers.state_rows = [&](std::size_t matrix, std::size_t mode, std::uint64_t first, std::span<double> rows) {
      copy(matrices[matrix][mode], first, rows);
    };
    write_model_file(path, model, numbers);
  }

  ModelFile model;
  std::vector<std::vector<std::vector<double>>> matrices;
};

struct StatefulMethod {
  std::string name;
  CpdMethod method;
  std::size_t numbers;  // with that of the reordered modes
  std::vector<std::string> matrices;
  std::vector<std::size_t> large = {};  // numbers that may be of any size: a rate, an objective, errors, weights
};

std::vector<StatefulMethod> stateful_methods() {
  const RowConstraint simplex{.set = RowSet::simplex};
  return {{"admm", AlsMethod{{{}, simplex, {}}}, 1, {"dual"}},
          {"momentum", AlsMethod{}, 5, {"previous factors"}, {2, 3, 4}},
          {"apr", AprMethod{.inner = 2}, 2, {}},
          {"lbfgs", GcpMethod{.loss = {LossKind::poisson, 0}, .evaluations = 3}, 2, {}},
          {"adam",
           GcpAdamMethod{.loss = {LossKind::huber, 0.5}, .samples = 50},
           7,
           {"first moments", "second moments"},
           {4, 6}},
          {"complete", CompletionMethod{}, 10, {"best"}, {2, 3}}};
}

class DamagedState : public testing::TestWithParam<StatefulMethod> {
 protected:
  DamagedState() : tensor_(ingest("in", 1)), held_out_(ingest("out", 2)) {
    CpdOptions first = options(2);
    first.checkpoint = path_;
    fit_cpd(tensor_, first);
  }

  TensorFile ingest(const std::string& name, std::uint64_t seed) const {
    const CoordinateTensor tensor = random_coordinates({.shape = {9, 8, 7}, .nnz = 150, .seed = seed, .counts = true});
    const std::filesystem::path output = folder_ / (name + ".blco");
    ingest_files({folder_.write(name + ".tns", as_text(tensor))}, output, {.shape = tensor.shape, .chunk_nnz = 64});
    return TensorFile(output);
  }

  CpdOptions options(int sweeps) const {
    CpdOptions options{.rank = 2, .max_sweeps = sweeps, .tolerance = 0, .compute = {.devices = {"cpu"}, .threads = 1}};
    options.method = GetParam().method;
    if (auto* const completion = std::get_if<CompletionMethod>(&options.method)) completion->validation = &held_out_;
    return options;
  }

  // What a fit says that goes on from the checkpoint; "" if it comes to its end, with finite numbers.
  std::string complaint_of(const WholeCheckpoint& checkpoint) const {
    checkpoint.write(path_);
    CpdOptions second = options(3);
    second.resume = path_;
    try {
      const CpdModel model = fit_cpd(tensor_, second);
      EXPECT_TRUE(std::ranges::all_of(model.weights, [](double weight) { return std::isfinite(weight); }));
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string() + ": "));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
      return error.what();
    }
  }

  TemporaryFolder folder_;
  TensorFile tensor_;
  TensorFile held_out_;
  std::filesystem::path path_ = folder_ / "fit.ckpt";
};

INSTANTIATE_TEST_SUITE_P(Methods, DamagedState, testing::ValuesIn(stateful_methods()),
                         [](const auto& which) { return which.param.name; });

TEST_P(DamagedState, IsRefusedNumberByNumber) {
  const WholeCheckpoint whole(path_);
  ASSERT_EQ(whole.model.state_numbers.size(), GetParam().numbers);
  ASSERT_EQ(whole.model.state_matrices, GetParam().matrices);
  ASSERT_EQ(complaint_of(whole), "");
  // The first number is compared, and only where there are matrices. An objective may also be negative.
  for (std::size_t at = 1; at < GetParam().numbers; ++at) {
    for (const double wrong : {-2.5, -1e300, 1e300}) {
      WholeCheckpoint damaged = whole;
      damaged.model.state_numbers[at] = wrong;

      const std::string complaint = complaint_of(damaged);

      const bool is_right =
          std::ranges::count(GetParam().large, at) > 0 && (wrong > 0 || (GetParam().name == "adam" && at == 6));
      if (is_right) {
        EXPECT_EQ(complaint, "") << at << ' ' << wrong;
      } else {
        EXPECT_THAT(complaint, testing::HasSubstr("state/numbers[" + std::to_string(at) + "], ")) << wrong;
      }
    }
  }
}

TEST_P(DamagedState, IsRefusedWithNumbersOrMatricesTooFewOrTooMany) {
  const WholeCheckpoint whole(path_);

  WholeCheckpoint longer = whole;
  longer.model.state_numbers.push_back(0);
  EXPECT_THAT(complaint_of(longer), testing::HasSubstr("but method " + whole.model.method));
  if (GetParam().numbers > 1) {
    WholeCheckpoint shorter = whole;
    shorter.model.state_numbers.pop_back();
    EXPECT_THAT(complaint_of(shorter), testing::HasSubstr("but method " + whole.model.method));
  }
  WholeCheckpoint more = whole;
  more.model.state_matrices.push_back("more");
  more.matrices.push_back(whole.model.factors);
  EXPECT_THAT(complaint_of(more), testing::HasSubstr("'more', but method " + whole.model.method));
  if (GetParam().matrices.empty()) return;
  WholeCheckpoint renamed = whole;
  renamed.model.state_matrices.front() = "else";
  EXPECT_THAT(complaint_of(renamed), testing::HasSubstr("'else'"));
}

TEST_P(DamagedState, IsRefusedWithAnotherNumberOfSweeps) {
  WholeCheckpoint damaged(path_);
  damaged.model.stated_sweeps = std::uint64_t{1} << 62;

  EXPECT_THAT(complaint_of(damaged), testing::HasSubstr("4611686018427387904 sweeps, but a history of 2"));
}

// Older versions said "gcp" of both its methods.
TEST_P(DamagedState, OfAdamUnderItsOldNameItIsResumed) {
  if (!std::holds_alternative<GcpAdamMethod>(GetParam().method)) GTEST_SKIP() << "of Adam alone";
  CpdOptions second = options(3);
  second.resume = path_;
  const CpdModel expected = fit_cpd(tensor_, second);
  WholeCheckpoint old(path_);
  old.model.method = "gcp";
  old.write(path_);

  EXPECT_TRUE(std::holds_alternative<GcpAdamMethod>(options_of_model(path_).method));
  EXPECT_EQ(fit_cpd(tensor_, second).factors, expected.factors);
  second.method = GcpMethod{.loss = {LossKind::huber, 0.5}};
  EXPECT_THROW(fit_cpd(tensor_, second), Error);
}

}  // namespace
}  // namespace blco
