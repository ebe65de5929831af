// The model of a fit, of several starts, of ranks and of a search is in the file that its options name, and no other
// job can write that file meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/rank_choice.hpp>
#include <blco/starts.hpp>
#include <blco/tucker_ranks.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

class ModelOfAFit : public testing::Test {
 protected:
  ModelOfAFit() : tensor_(numbered_cells()) {}

  static MemoryTensor numbered_cells() {
    std::vector<std::vector<std::uint32_t>> cells(3);
    std::vector<double> values;
    for (std::uint32_t cell = 0; cell < 5 * 6 * 7; ++cell) {
      cells[0].push_back(cell / 42);
      cells[1].push_back(cell / 7 % 6);
      cells[2].push_back(cell % 7);
      values.push_back(1 + cell * 7919 % 31);
    }
    return MemoryTensor({.coordinates = {cells[0], cells[1], cells[2]}, .values = values}, {.shape = {5, 6, 7}});
  }

  // Options that end after the third sweep; until then nobody else may write the file.
  template <class Options>
  Options watched(Options options) {
    options.output = file();
    options.tolerance = 0;
    options.compute.devices = {"cpu"};
    options.compute.threads = 1;
    options.on_sweep = [this](const SweepReport& report) {
      EXPECT_FALSE(std::filesystem::exists(file()));
      EXPECT_THROW(save(other_, file()), Error);
      ++sweeps_;
      return report.sweep < 3;
    };
    return options;
  }

  std::filesystem::path file() const { return folder_ / "there" / "model.h5"; }

  TemporaryFolder folder_;
  bool is_made_ = std::filesystem::create_directory(folder_ / "there");
  MemoryTensor tensor_;
  CpdModel other_ = fit_cpd(tensor_, {.rank = 1, .max_sweeps = 1, .compute = {.devices = {"cpu"}}});
  int sweeps_ = 0;
};

TEST_F(ModelOfAFit, HasTheModelOfAFitThatIsStopped) {
  const CpdModel model = fit_cpd(tensor_, watched(CpdOptions{.rank = 2}));

  EXPECT_EQ(sweeps_, 3);
  EXPECT_EQ(load_model(file()).factors, model.factors);
  EXPECT_EQ(load_model(file()).stop_reason, StopReason::cancelled);
  save(other_, file());  // which is free again
}

TEST_F(ModelOfAFit, HasATuckerModel) {
  const TuckerModel model = fit_tucker(tensor_, watched(TuckerOptions{.ranks = {2}}));

  EXPECT_EQ(load_tucker(file()).core, model.core);
}

TEST_F(ModelOfAFit, HasTheLastModelOfASearchForRanks) {
  const TuckerModel model = fit_tucker_to_error(tensor_, watched(TuckerOptions{.ranks = {1}}), 0.01);

  EXPECT_EQ(sweeps_, 3);
  EXPECT_EQ(load_tucker(file()).core, model.core);
  EXPECT_EQ(load_tucker(file()).fit_history, model.fit_history);
}

TEST_F(ModelOfAFit, HasTheBestOfSeveralStarts) {
  CpdOptions options = watched(CpdOptions{.rank = 2});
  options.max_sweeps = 2;

  const StartsReport report = fit_starts(tensor_, options, 3);

  EXPECT_EQ(sweeps_, 6);
  EXPECT_EQ(load_model(file()).seed, report.best.seed);
  EXPECT_EQ(load_model(file()).factors, report.best.factors);
}

TEST_F(ModelOfAFit, IsOnePerRankAndAllAreClaimedFromTheBeginning) {
  CpdOptions options = watched(CpdOptions{.max_sweeps = 2});
  const auto of_rank = [this](int rank) { return folder_ / "there" / (std::to_string(rank) + ".h5"); };
  options.on_sweep = [&](const SweepReport&) {
    EXPECT_THROW(save(other_, of_rank(3)), Error);
    return true;
  };
  std::vector<int> saved;
  const RankSearch search{.output = of_rank, .on_begin = [&](int rank, int start) {
                            if (start == 0) saved.push_back(load_model(of_rank(rank)).rank);
                          }};

  fit_ranks(tensor_, options, std::vector{2, 3}, search);

  EXPECT_EQ(saved, (std::vector{2, 3}));
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_THROW(fit_ranks(tensor_, options, std::vector{2, 3}), Error) << "one file for both";
}

TEST_F(ModelOfAFit, MayBeTheCheckpoint) {
  CpdOptions options{.rank = 2, .max_sweeps = 3, .compute = {.devices = {"cpu"}, .threads = 1}};
  options.checkpoint = folder_ / "there" / "." / "model.h5";
  options.output = file();

  const CpdModel model = fit_cpd(tensor_, options);

  EXPECT_EQ(load_model(file()).factors, model.factors);
}

TEST_F(ModelOfAFit, ThatCannotBeWrittenSaysWhetherTheCheckpointHoldsTheModel) {
  CpdOptions options{.rank = 2, .max_sweeps = 3, .compute = {.devices = {"cpu"}}};
  options.output = file();
  options.on_sweep = [&](const SweepReport&) { return std::filesystem::remove_all(folder_ / "there"), true; };
  const auto error = [&] {
    std::filesystem::create_directory(folder_ / "there");
    try {
      fit_cpd(tensor_, options);
    } catch (const Error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };

  EXPECT_THAT(error(), testing::EndsWith("create it first"));
  options.checkpoint = folder_ / "kept.h5";
  EXPECT_THAT(error(), testing::EndsWith("kept.h5 holds this model"));
  options.checkpoint = folder_ / "there" / "lost.h5";
  EXPECT_THAT(error(), testing::EndsWith("create it first"));
}

}  // namespace
}  // namespace blco
