// blco-tucker: fits a Tucker model to a tensor that may be larger than memory.
#include <fmt/format.h>

#include <array>
#include <blco/starts.hpp>
#include <blco/tucker_ranks.hpp>
#include <limits>
#include <optional>
#include <sstream>

#include "tools/programs/cpd_program.hpp"
#include "tools/programs/option_flags.hpp"
#include "tools/programs/processes.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path tensor;
  std::filesystem::path output;
  std::filesystem::path initial;
  std::optional<ModeChoice> held;
  TuckerOptions tucker;
  double max_error = 0;  // 0: the ranks are given
  int starts = 1;
  bool dry_run = false;
};

// 8 or 8,8,4.
std::vector<int> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  std::istringstream words(text + ',');
  for (std::string word; std::getline(words, word, ',');) {
    ranks.push_back(static_cast<int>(cli::parse_whole(word, 1, std::numeric_limits<int>::max())));
  }
  return ranks;
}

void add_options(cli::CommandLine& line, Arguments& arguments) {
  TuckerOptions& tucker = arguments.tucker;
  line.add_path("TENSOR", arguments.tensor, {"", "A BLCO container from blco-ingest", cli::required});
  line.add_path("-o,--output", arguments.output,
                {"MODEL", "File for the model (HDF5), written only once the fit ends; required unless --dry-run"});
  line.add(
      "--ranks", tucker.ranks, parse_ranks,
      {"R1,R2,...", "Columns of each mode's matrix; one number: of all modes, where they and the other ranks allow it",
       "those of --init or --resume"});
  line.add_real(
      "--error", arguments.max_error,
      "Find ranks for which |X - model| / |X| is at most this, from those of --ranks (without it, up to 8) up "
      "or down, as far as --memory allows; 0: --ranks are the ranks; at least 0.000001, or 0.001 where "
      "--precision is not f64");
  line.add_choice<TuckerMethod>(
      "--method", tucker.method,
      {{"auto", TuckerMethod::automatic}, {"hooi", TuckerMethod::hooi}, {"hoqri", TuckerMethod::hoqri}},
      "hooi takes the leading singular vectors of each unfolding, which it holds in memory; hoqri reads it a few "
      "columns at a time, and takes more passes and sweeps; auto takes hooi where the memory budget has room, "
      "and always with --deterministic");
  line.begin_group("How it starts");
  line.add_whole("--seed", tucker.seed, 0, {"N", "Seed of the random initial matrices"});
  line.add_whole(
      "--starts", arguments.starts, 1,
      {"K",
       "Fit K times, from the seeds N, N + 1, ... of --seed, and keep the best model. How alike the spaces of "
       "each mode are in the best model and in another, 1 for the same space, says whether the answer is "
       "stable"});
  line.add_choice<TuckerStart>("--start", tucker.start,
                               {{"random", TuckerStart::random}, {"nvecs", TuckerStart::nvecs}},
                               "Initial matrices: random, or sampled from each mode's unfolding in a pass per mode");
  line.add_path("--init", arguments.initial,
                {"MODEL",
                 "Start from the matrices of this model, with its ranks. Modes of the tensor may have become longer: "
                 "rows that the model lacks start at random"});
  line.excludes("--init", {"--start"});
  line.add("--hold", [&](const std::string& word) { arguments.held = cli::parse_modes(word); },
           {"MODES",
            "With --init: leave the matrices of these modes as they are in that model; modes by name or number from 0, "
            "separated by commas. With all modes held, the core alone is found"});
  line.begin_group("When it stops");
  line.add_whole("--sweeps", tucker.max_sweeps, 1,
                 {"N", "Maximum number of sweeps, including those of a resumed model"});
  line.add_real("--tolerance", tucker.tolerance, "Stop when a sweep changes the fit by less; 0 never stops");
  cli::add_long_job_options(line, tucker.time_limit_seconds, tucker.checkpoint, tucker.checkpoint_sweeps);
  line.add_path("--resume", tucker.resume,
                {"FILE",
                 "Continue the fit of this checkpoint or model, as if it had not stopped, with its ranks, seed and "
                 "method; give other options again. A model of -o continues up to rounding"});
  line.excludes("--resume", {"--init", "--seed", "--start"});
  line.excludes("--error", {"--checkpoint", "--resume", "--hold", "--starts"});
  cli::add_compute_options(line, tucker.compute);
  line.begin_group("Plans without a fit");
  line.add_flag("--dry-run", arguments.dry_run,
                "Print the plan and stop: where chunks are kept, and the memory required");
}

std::string explain(StopReason reason, const TuckerOptions& options) {
  if (reason == StopReason::tolerance) return fmt::format("the fit changed by less than {}", options.tolerance);
  if (reason == StopReason::sweeps) {
    return "reached the limit of " + cli::format_count(static_cast<std::uint64_t>(options.max_sweeps), "sweep");
  }
  if (reason == StopReason::unfinished) return "the next ranks are out of reach; the model is the last above";
  return std::string(reason == StopReason::time ? "reached the time limit" : "interrupted") +
         "; the model is that of the last sweep above";
}

void report_plan(const TuckerPlan& plan, const Arguments& arguments, const TensorSummary& tensor,
                 cli::Reporter& reporter) {
  reporter.event("method", cli::as_json(plan, {"method", "passes_per_sweep"}));
  reporter.print("method  {}, {} per sweep; cells that are not listed count as zero", to_string(plan.method),
                 cli::format_count(plan.passes_per_sweep) + (plan.passes_per_sweep == 1 ? " pass" : " passes"));
  cli::report_plan(reporter, plan.plan, tensor);
  cli::report_start(reporter, plan.plan, tensor, arguments.initial, arguments.tucker.seed);
}

void report_ranks(const TuckerPlan& plan, cli::Reporter& reporter) {
  reporter.event("ranks", cli::as_json(plan, {"ranks", "passes_per_sweep"}));
  reporter.print("ranks   {}", cli::format_shape(std::vector<std::uint64_t>(plan.ranks.begin(), plan.ranks.end())));
}

void report_model(const Arguments& arguments, const TuckerModel& model, cli::Reporter& reporter) {
  reporter.event("result", {{"output", arguments.output.string()},
                            {"method", model.method},
                            {"ranks", model.ranks},
                            {"sweeps", model.sweeps()},
                            {"stop_reason", to_string(model.stop_reason)},
                            {"fit", model.fit()}});
  reporter.print("stopped: {}", explain(model.stop_reason, arguments.tucker));
  reporter.print("model   {} (ranks {}, fit {:.6f})", arguments.output.string(), cli::format_shape(model.ranks),
                 model.fit());
  const double error = 1 - model.fit();
  if (arguments.max_error > 0 && error > arguments.max_error) {
    reporter.warn(
        fmt::format("the model's error is {:.6f}, above --error {}, because the fit ended before; continue it "
                    "with --init {}",
                    error, arguments.max_error, arguments.output.string()));
  }
}

TuckerModel fit_from_starts(const Arguments& arguments, const Tensor& tensor, cli::Reporter& reporter) {
  const int starts = arguments.starts;
  const auto begin = [&](int start) {
    reporter.set_part(fmt::format("start {} of {}", start, starts), {{"start", start}});
  };
  TuckerOptions tucker = arguments.tucker;
  tucker.on_plan = {};
  tucker.on_sweep = [](const SweepReport&) { return !cli::is_interrupted(); };
  report_plan(plan_starts(tensor, tucker, starts), arguments, tensor.summary(), reporter);
  begin(1);
  TuckerStartsReport report = fit_starts(tensor, tucker, starts, [&](const StartReport& start, const TuckerModel&) {
    reporter.event("start", cli::start_json(start, /*is_fit=*/true, /*is_validated=*/false));
    reporter.print(cli::start_words(start, /*is_fit=*/true));
    if (start.start < starts) begin(start.start + 1);
  });
  cli::Json json = {{"starts", report.starts.size()}, {"best", report.best_start}, {"seed", report.best.seed}};
  json.update(cli::matches_json(report, "modes"));
  reporter.event("starts", json);
  for (const std::string& words : cli::match_lines(report, "modes", "match of the spaces")) reporter.print(words);
  return std::move(report.best);
}

void decompose(Arguments& arguments, cli::Reporter& reporter) {
  TuckerOptions& tucker = arguments.tucker;
  tucker.compute.on_compile = reporter.notes_of_threads();
  std::optional<TuckerModel> initial;
  if (!arguments.initial.empty()) {
    initial = load_tucker(arguments.initial);
    tucker.initial = &*initial;
  }
  if (tucker.ranks.empty() && !initial && tucker.resume.empty() && arguments.max_error == 0)
    cli::refuse("--ranks is required unless --error, --init or --resume is given");
  const TensorFile tensor(arguments.tensor);
  if (arguments.held) constrain("hold", *arguments.held, tensor.summary(), {.set = RowSet::held}, tucker.constraints);
  const bool searches = arguments.max_error != 0;
  if (arguments.dry_run) {
    const TuckerPlan plan = searches ? plan_tucker_to_error(tensor, tucker, arguments.max_error)
                                     : plan_starts(tensor, tucker, arguments.starts);
    return report_plan(plan, arguments, tensor.summary(), reporter);
  }
  if (arguments.output.empty()) cli::refuse("-o MODEL is required unless --dry-run is given");
  cli::check_output(arguments.output, std::array{arguments.tensor});
  if (!tucker.checkpoint.empty())
    cli::check_output(tucker.checkpoint, std::array{arguments.tensor, arguments.initial}, "--checkpoint");
  if (!tucker.compute.trace.empty()) {
    cli::check_output(
        tucker.compute.trace,
        std::array{arguments.tensor, arguments.initial, arguments.output, tucker.checkpoint, tucker.resume}, "--trace");
  }
  tucker.output = arguments.output;
  cli::CheckpointLog checkpoints;
  tucker.on_checkpoint = [&](const CheckpointReport& report) { checkpoints.report(reporter, report); };
  if (tucker.resume.empty()) cli::note_old_checkpoint(reporter, tucker.checkpoint);
  tucker.on_progress =
      reporter.progress(" with the model of the last sweep; interrupt again to stop at once without a model");
  std::vector<int> ranks;  // of the last plan
  tucker.on_plan = [&](const TuckerPlan& plan) {
    const bool is_first = ranks.empty();
    if (searches && ranks != plan.ranks) report_ranks(plan, reporter);
    ranks = plan.ranks;
    if (is_first) report_plan(plan, arguments, tensor.summary(), reporter);
  };
  tucker.on_sweep = [&](const SweepReport& report) {
    cli::report_sweep(reporter, report, {});
    return !cli::is_interrupted();
  };
  const auto on_last_ranks = [&](const Error& error) {
    reporter.warn(cli::name_flags(error.what(), [](const std::string&) { return true; }));
  };
  const TuckerModel model = searches ? fit_tucker_to_error(tensor, tucker, arguments.max_error, on_last_ranks)
                            : arguments.starts > 1 ? fit_from_starts(arguments, tensor, reporter)
                                                   : fit_tucker(tensor, tucker);
  report_model(arguments, model, reporter);
  checkpoints.check_last(arguments.output);
}

constexpr const char* about =
    "Fits a Tucker model to the tensor of a BLCO container: a small core times a matrix with orthonormal columns in "
    "each mode. Chunks that do not fit in memory are streamed from disk. Cells that are not listed in the tensor X "
    "count as zero; the fit is 1 - |X - model| / |X| over all cells, where |X| is the root of the sum of squares.";

constexpr const char* examples =
    "  blco-tucker calls.blco --ranks 8 -o calls-tucker.h5\n"
    "  blco-tucker calls.blco --ranks 8,8,4 --memory 512MiB -o calls-tucker.h5\n"
    "  blco-tucker calls.blco --init calls-tucker.h5 --sweeps 100 -o calls-tucker.h5";

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-tucker", about, examples);
  Arguments arguments;
  add_options(line, arguments);
  line.begin_group("What it prints");
  cli::Reporter reporter(line, argc, argv);
  line.begin_group("Where it computes");
  cli::Processes processes(line);
  return processes.run(argc, argv, arguments.tensor, arguments.tucker.compute, [&] { decompose(arguments, reporter); });
}
