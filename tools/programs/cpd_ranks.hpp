// blco-cpd with several starts or ranks: runs them, compares them, and keeps the best of each rank.
#pragma once

#include <blco/cpd.hpp>
#include <filesystem>
#include <span>
#include <vector>

#include "tools/programs/cli.hpp"
#include "tools/programs/reporter.hpp"

namespace blco::cli {

struct RankArguments {
  std::vector<int> ranks;  // empty: not given
  int starts = 1;

  bool is_search() const { return starts > 1 || ranks.size() > 1; }
};

// Adds --rank, which sets `rank` to the first of them, and --starts.
void add_rank_options(CommandLine& line, RankArguments& arguments, int& rank);

// Where the model of one of the ranks goes; empty: nowhere.
std::filesystem::path output_of_rank(const RankArguments& arguments, const std::filesystem::path& output, int rank);

// Checks what goes with several ranks, and the outputs. Throws Error{invalid_argument}.
void check_ranks(const RankArguments& arguments, const CpdOptions& options, const std::filesystem::path& initial,
                 const std::filesystem::path& output, std::span<const std::filesystem::path> inputs, bool dry_run);

// Runs the fits and saves the models. `options` has the method, and what reports progress.
void fit_ranks(const RankArguments& arguments, const Tensor& tensor, const MemoryBudget& budget,
               const CpdOptions& options, const std::filesystem::path& output, Reporter& reporter);

}  // namespace blco::cli
