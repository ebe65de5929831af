// The parts of blco-cpd: its arguments, several starts or ranks, and what it prints; blco-tucker prints starts
// and sweeps by these too.
#pragma once

#include <blco/cpd.hpp>
#include <blco/option_table.hpp>
#include <blco/starts.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/programs/cli.hpp"
#include "tools/programs/reporter.hpp"

namespace blco::cli {

struct CpdArguments {
  std::filesystem::path tensor;
  std::filesystem::path output;
  std::filesystem::path initial;
  std::filesystem::path validation;
  CpdOptions cpd;
  std::vector<int> ranks;  // empty: not given
  int starts = 1;
  bool keep_starts = false;
  bool dry_run = false;
  DeclaredGpu gpu;
  std::vector<GivenOption> given;  // options of the table; `initial` and `validate` once their files are open
};

// Adds --rank, of which cpd.rank becomes the first, --starts and --keep-starts.
void add_rank_options(CommandLine& line, CpdArguments& arguments);
// Checks what goes with several ranks, and the outputs. Throws Error{invalid_argument}.
void check_ranks(const CommandLine& line, const CpdArguments& arguments, std::span<const std::filesystem::path> inputs);
// Where the model of one of the ranks goes; empty: nowhere.
std::filesystem::path output_of_rank(const CpdArguments& arguments, int rank);
// Fits several starts or ranks, compares them, and saves the best model of each rank.
void fit_ranks(const CpdArguments& arguments, const Tensor& tensor, Reporter& reporter);

void report_plan(Reporter& reporter, const CpdPlan& plan, const TensorSummary& tensor);
// Says which rows the initial model lacks, if any.
void report_start(Reporter& reporter, const CpdPlan& plan, const TensorSummary& tensor,
                  const std::filesystem::path& initial, std::uint64_t seed);
void report_sweep(Reporter& reporter, const SweepReport& report, const CpdOptions& options);

// Tells what the least held-out error of a fit is worth.
void report_held_out(Reporter& reporter, const HeldOutReport& means, const CpdOptions& options);

// The fit, or else the objective.
std::string value_words(bool is_fit, double fit, double objective);
// One of several starts, once it has ended.
Json start_json(const StartReport& report, bool is_fit, bool is_validated);
std::string start_words(const StartReport& report, bool is_fit);
const StartReport& best_of(const StartsSummary& starts);
// How alike the starts are; `parts` names those of the models that have matches of their own, `score` the match. A line
// for each start that was compared with the best, and one for all.
Json matches_json(const StartsSummary& starts, const char* parts);
std::vector<std::string> match_lines(const StartsSummary& starts, const char* parts, const char* score);

// Tells of checkpoints that cannot be saved, also with --quiet: each reason once, and their number when one is saved
// again.
class CheckpointLog {
 public:
  void report(Reporter& reporter, const CheckpointReport& report);
  // Throws Error{io} if the last checkpoint is not saved; `output` has the model.
  void check_last(const std::filesystem::path& output) const;

 private:
  std::uint64_t lost_ = 0;  // since one was saved
  std::string failure_;     // the last reason
};

// Tells that a file will be replaced which the fit could continue from.
void note_old_checkpoint(Reporter& reporter, const std::filesystem::path& checkpoint);

// Prints one line per mode whose normal equations were rank-deficient, from the ranks per sweep and mode: the lowest
// rank seen, and in how many sweeps.
void report_system_ranks(Reporter& reporter, const std::vector<std::vector<int>>& system_ranks, const CpdModel& model);
// `options` are those of the fit.
void report_model(Reporter& reporter, const CpdModel& model, const CpdOptions& options,
                  const std::filesystem::path& output);

}  // namespace blco::cli
