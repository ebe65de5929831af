// blco-cpd: fits a CP model to a tensor that may be larger than memory.
#include <fmt/format.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/peers.hpp>
#include <blco/starts.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "tools/programs/compute_options.hpp"
#include "tools/programs/cpd_program.hpp"
#include "tools/programs/processes.hpp"

namespace {

using namespace blco;

using cli::CpdArguments;

void add_plans(cli::CommandLine& line, CpdArguments& arguments) {
  line.begin_group("Plans without a fit");
  line.add_flag("--dry-run", arguments.dry_run,
                "Print the plan and stop: where chunks are kept, and the memory required");
  line.add_size("--declare-gpu", arguments.gpu.memory_bytes,
                "With --dry-run: plan for a GPU with this much memory; the GPU need not exist", "");
  line.needs("--declare-gpu", "--dry-run");
}

void add_start(cli::CommandLine& line, CpdArguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.begin_group("How it starts");
  line.add_whole("--seed", cpd.seed, 0, {"N", "Seed of the random initial factors"});
  line.add_choice<Start>("--start", cpd.start,
                         {{"auto", Start::automatic},
                          {"uniform", Start::uniform},
                          {"centered", Start::centered},
                          {"normal", Start::normal},
                          {"nvecs", Start::nvecs}},
                         "Initial factors. uniform: random numbers in [0, 1). centered: random numbers in [-1/2, 1/2). "
                         "normal: standard normal numbers. nvecs, for --method als: leading singular vectors, sampled "
                         "from each mode's unfolding in a pass per mode. auto: uniform");
  line.add_path(
      "--init", arguments.initial,
      {"MODEL",
       "Start from the factors of this model, with its rank, instead of random ones. The tensor may have more indices "
       "than the model, such as after blco-ingest --labels-from. The rows of new indices are random"});
}

void add_end(cli::CommandLine& line, CpdArguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.begin_group("When it stops");
  line.add("--sweeps",
           [&](const std::string& word) {
             cpd.max_sweeps = static_cast<int>(cli::parse_whole(word, 1, std::numeric_limits<int>::max()));
           },
           {"N", "Maximum number of sweeps, including those of a resumed model",
            fmt::format("{}, complete: {}", max_sweeps_of({}), max_sweeps_of({.method = CompletionMethod()}))});
  cli::add_tolerance(line, cpd);
  line.add("--time-limit", cpd.time_limit_seconds, cli::parse_duration,
           {"TIME", "Stop after this time, such as 90s, 30m or 2h, with the model of the last sweep"});
}

void add_checkpoints(cli::CommandLine& line, CpdArguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.begin_group("Checkpoints");
  cli::add_checkpoint_options(line, cpd.checkpoint, cpd.checkpoint_sweeps);
  line.add_path("--resume", cpd.resume,
                {"FILE",
                 "Continue the fit of this checkpoint or model, as if it had not stopped. Rank, seed, method, loss, "
                 "constraints, ridge and precision are those of the file; give other options again. A model of -o of "
                 "plain least squares continues up to rounding"});
  line.excludes("--resume", {"--init", "--seed"});
}

void add_options(cli::CommandLine& line, CpdArguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("TENSOR", arguments.tensor, {"", "A BLCO container from blco-ingest", cli::required});
  line.add_path("-o,--output", arguments.output,
                {"MODEL",
                 "File for the model (HDF5), written only once the fit ends; required unless --dry-run or several "
                 "ranks are given. With these its name must contain {rank}, such as model-{rank}.h5"});
  cpd.rank = 0;
  cli::add_rank_options(line, arguments);
  cli::add_method_options(line, arguments);
  add_start(line, arguments);
  add_end(line, arguments);
  add_checkpoints(line, arguments);
  line.begin_group("Where it computes");
  cli::add_compute_options(line, cpd.compute);
  add_plans(line, arguments);
}

// The error over cells that the fit sees falls all the while.
void note_validation(const CpdArguments& arguments, cli::Reporter& reporter) {
  std::error_code failure;
  if (!std::filesystem::equivalent(arguments.tensor, arguments.validation, failure)) return;
  reporter.note(
      "--validate names the tensor that is fitted, so that its error says nothing of unknown cells; give cells that "
      "the fit does not see");
}

// Checks everything before the work starts.
void check(const cli::CommandLine& line, const CpdArguments& arguments) {
  const CpdOptions& cpd = arguments.cpd;
  if (cpd.rank == 0 && cpd.resume.empty() && arguments.initial.empty())
    cli::refuse("--rank is required unless --init or --resume is given");
  std::vector<std::filesystem::path> inputs = {arguments.tensor, arguments.initial, arguments.validation};
  cli::check_ranks(line, arguments, inputs);
  if (arguments.dry_run || arguments.ranks.size() > 1) return;
  if (arguments.output.empty()) cli::refuse("-o MODEL is required unless --dry-run or several ranks are given");
  cli::check_output(arguments.output, inputs);
  if (!cpd.checkpoint.empty()) cli::check_output(cpd.checkpoint, inputs, "--checkpoint");
  if (cpd.compute.trace.empty()) return;
  // A checkpoint may also be the input to resume and the final output; a trace may be neither.
  inputs.insert(inputs.end(), {cpd.resume, cpd.checkpoint, arguments.output});
  cli::check_output(cpd.compute.trace, inputs, "--trace");
  for (const std::filesystem::path& other : {cpd.checkpoint, arguments.output}) {
    if (cpd.compute.trace.lexically_normal() == other.lexically_normal())
      cli::refuse("--trace names the file of -o or --checkpoint; choose another");
  }
}

// From here on a second job with one of these outputs is refused.
void claim_outputs(CpdArguments& arguments) {
  arguments.cpd.claims = &arguments.claims;
  std::vector<std::filesystem::path> outputs = {arguments.output, arguments.cpd.checkpoint};
  if (arguments.ranks.size() > 1) outputs.clear();
  for (const int rank : arguments.ranks) outputs.push_back(cli::output_of_rank(arguments, rank));
  for (const std::filesystem::path& output : outputs) {
    if (!output.empty()) arguments.claims.add(output);
  }
}

void decompose(const cli::CommandLine& line, CpdArguments& arguments, cli::Reporter& reporter) {
  check(line, arguments);
  CpdOptions& cpd = arguments.cpd;
  std::optional<CpdModel> initial;
  if (!arguments.initial.empty()) initial = load_model(arguments.initial);
  cpd.initial = initial ? &*initial : nullptr;
  cpd.on_progress =
      reporter.progress(" with the model of the last sweep; interrupt again to stop at once without a model");
  const TensorFile tensor(arguments.tensor);
  std::optional<TensorFile> validation;
  if (!arguments.validation.empty()) validation.emplace(arguments.validation);
  cli::set_method(line, arguments, tensor.summary(), validation ? &*validation : nullptr);
  const auto report_plan = [&](const CpdPlan& plan) {
    cli::report_plan(reporter, plan);
    cli::report_start(reporter, plan, tensor.summary(), arguments.initial, cpd.seed);
  };
  const DeclaredGpu* const gpu = line.has("--declare-gpu") ? &arguments.gpu : nullptr;
  if (arguments.dry_run) return report_plan(plan_starts(tensor, cpd, arguments.starts, gpu));
  claim_outputs(arguments);
  note_validation(arguments, reporter);
  if (cpd.compute.peers != nullptr &&
      tensor.summary().chunk_count < static_cast<std::uint64_t>(cpd.compute.peers->size())) {
    reporter.note(
        "the tensor has {} for {} processes, so that some have nothing to do; ingest it with a smaller "
        "--chunk-nnz",
        cli::format_count(tensor.summary().chunk_count, "chunk"), cpd.compute.peers->size());
  }
  if (arguments.starts > 1 || arguments.ranks.size() > 1) return cli::fit_ranks(arguments, tensor, reporter);
  if (cpd.resume.empty()) cli::note_old_checkpoint(reporter, cpd.checkpoint);
  cpd.on_plan = report_plan;
  std::vector<std::vector<int>> system_ranks;
  std::optional<HeldOutReport> held_out;
  cpd.on_sweep = [&](const SweepReport& report) {
    system_ranks.push_back(report.system_ranks);
    if (report.held_out) held_out = report.held_out;
    cli::report_sweep(reporter, report, cpd);
    return !cli::is_interrupted();
  };
  cli::CheckpointLog checkpoints;
  cpd.on_checkpoint = [&](const CheckpointReport& report) { checkpoints.report(reporter, report); };
  cpd.output = arguments.output;
  const CpdModel model = fit_cpd(tensor, cpd);
  checkpoints.save_beside(cpd.checkpoint, [&] { save(model, arguments.output, &arguments.claims); });
  cli::report_system_ranks(reporter, system_ranks, model.rank);
  if (held_out) cli::report_held_out(reporter, *held_out, cpd);
  cli::report_model(reporter, model, cpd, arguments.output);
  checkpoints.check_last(arguments.output);
}

constexpr const char* about =
    "Fits a CP model to the tensor of a BLCO container. Chunks that do not fit in memory are streamed from disk.\n"
    "The model is a sum of R components, by falling weight: each a weight times the outer product of a column per "
    "mode. Cells that are not listed in the tensor X count as zero (--method complete: as unknown). The fit is "
    "1 - |X - model| / |X| over all cells, where |X| is the root of the sum of squares; methods other than als have "
    "an objective instead, which they minimise.";

constexpr const char* examples =
    "  blco-cpd calls.blco --rank 16 -o calls-model.h5\n"
    "  blco-cpd calls.blco --rank 32 --sweeps 100 --memory 512MiB -o calls-model.h5\n"
    "  blco-cpd calls.blco --rank 16 --nonnegative -o parts.h5\n"
    "  blco-cpd calls.blco --rank 16 --method apr -o rates.h5\n"
    "  blco-cpd ratings.blco --rank 8 --method complete --validate held-out.blco -o ratings-model.h5";

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-cpd", about, examples);
  CpdArguments arguments;
  add_options(line, arguments);
  line.begin_group("What it prints");
  cli::Reporter reporter(line, argc, argv);
  line.begin_group("Where it computes");
  arguments.cpd.compute.on_compile = reporter.notes_of_threads();
  cli::Processes processes(line);
  return processes.run(argc, argv, arguments.tensor, arguments.cpd.compute,
                       [&] { decompose(line, arguments, reporter); });
}
