// blco-cpd: fits a CP model to a tensor that may be larger than memory.
#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/peers.hpp>
#include <blco/starts.hpp>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tools/programs/cpd_program.hpp"
#include "tools/programs/option_flags.hpp"
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

// What the job needs before the tensor is open goes into `cpd` at once.
void take(CpdArguments& arguments, const Option<CpdOptions>& row, const OptionValue& value) {
  if (row.name == "initial" || row.name == "validate") {
    (row.name == "initial" ? arguments.initial : arguments.validation) = std::get<std::string>(value);
    return;
  }
  arguments.given.push_back({row.name, value});
  if (row.set && row.methods.empty() && row.name != "method") row.set(arguments.cpd, value);
}

// `rank`, of which there may be several, is added before.
void add_table(cli::CommandLine& line, CpdArguments& arguments) {
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    if (row.name == "rank") continue;
    cli::add_option(line, row, words_of_default(row), [&](const OptionValue& value) { take(arguments, row, value); });
  }
  line.needs("--every", "--checkpoint");
  line.excludes("--resume", {"--init", "--seed"});
}

void add_options(cli::CommandLine& line, CpdArguments& arguments) {
  line.add_path("TENSOR", arguments.tensor, {"", "A BLCO container from blco-ingest", cli::required});
  line.add_path("-o,--output", arguments.output,
                {"MODEL",
                 "File for the model (HDF5), written only once the fit ends; required unless --dry-run or several "
                 "ranks are given. With these its name must contain {rank}, such as model-{rank}.h5"});
  arguments.cpd.rank = 0;
  cli::add_rank_options(line, arguments);
  add_table(line, arguments);
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

void decompose(const cli::CommandLine& line, CpdArguments& arguments, cli::Reporter& reporter) {
  check(line, arguments);
  CpdOptions& cpd = arguments.cpd;
  std::optional<CpdModel> initial;
  if (!arguments.initial.empty()) initial = load_model(arguments.initial);
  if (initial) arguments.given.push_back({"initial", &std::as_const(*initial)});
  cpd.on_progress =
      reporter.progress(" with the model of the last sweep; interrupt again to stop at once without a model");
  const TensorFile tensor(arguments.tensor);
  std::optional<TensorFile> validation;
  if (!arguments.validation.empty()) {
    const Tensor& held_out = validation.emplace(arguments.validation);
    arguments.given.push_back({"validate", &held_out});
  }
  set_options(cpd, arguments.given, tensor.summary());
  const auto report_plan = [&](const CpdPlan& plan) {
    cli::report_plan(reporter, plan, tensor.summary());
    cli::report_start(reporter, plan, tensor.summary(), arguments.initial, cpd.seed);
  };
  const DeclaredGpu* const gpu = line.has("--declare-gpu") ? &arguments.gpu : nullptr;
  if (arguments.dry_run) return report_plan(plan_starts(tensor, cpd, arguments.starts, gpu));
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
  cli::report_system_ranks(reporter, system_ranks, model);
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
