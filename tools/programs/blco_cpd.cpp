// blco-cpd: fits a CP model to a tensor that may be larger than memory.
#include <fmt/format.h>

#include <blco/cpd.hpp>
#include <blco/starts.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "tools/programs/cli.hpp"
#include "tools/programs/cpd_methods.hpp"
#include "tools/programs/cpd_ranks.hpp"
#include "tools/programs/cpd_report.hpp"
#include "tools/programs/interrupt.hpp"
#include "tools/programs/rank_note.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path tensor;
  std::filesystem::path output;
  std::filesystem::path initial;
  MemoryBudget budget;
  CpdOptions cpd;
  cli::MethodArguments method;
  cli::RankArguments ranks;
  bool has_seed = false;
  bool has_every = false;
  bool dry_run = false;
  DeclaredGpu gpu;
  bool has_rates = false;  // the user gave speeds of that GPU
};

void add_rate(cli::CommandLine& line, const std::string& name, double& bytes_per_second, bool& given,
              const std::string& description) {
  const auto assign = [&bytes_per_second, &given](const std::string& text) {
    given = true;
    bytes_per_second = static_cast<double>(cli::parse_size(text));
    if (bytes_per_second == 0) throw Error(ErrorKind::invalid_argument, "a bandwidth must be above 0");
  };
  line.add(name, assign,
           {.type = "SIZE",
            .description = "With --declare-gpu: bandwidth of " + description + ", in bytes per second",
            .fallback = cli::format_decimal_bytes(bytes_per_second)});
}

void add_declared_gpu(cli::CommandLine& line, Arguments& arguments) {
  DeclaredGpu& gpu = arguments.gpu;
  line.add_size("--declare-gpu", gpu.memory_bytes,
                "With --dry-run: plan for a GPU with this much memory; the GPU need not exist", "");
  add_rate(line, "--link-bandwidth", gpu.link_bytes_per_second, arguments.has_rates, "the link to the GPU");
  add_rate(line, "--disk-bandwidth", gpu.disk_bytes_per_second, arguments.has_rates, "the disk");
  add_rate(line, "--memory-bandwidth", gpu.memory_bytes_per_second, arguments.has_rates, "device memory");
}

void add_checkpoints(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path(
      "--checkpoint", cpd.checkpoint,
      {.type = "FILE", .description = "Also save the model to this file, every K sweeps (see --every) and at the end"});
  line.add("--every",
           [&](const std::string& word) {
             cpd.checkpoint_sweeps = static_cast<int>(cli::parse_whole(word, 1, 1'000'000));
             arguments.has_every = true;
           },
           {.type = "K",
            .description = "With --checkpoint: number of sweeps from one checkpoint to the next",
            .fallback = "1"});
  line.add_path(
      "--resume", cpd.resume,
      {.type = "FILE",
       .description =
           "Continue the fit of this checkpoint or model, with its rank and seed, as if it had not stopped; from a "
           "model of -o of plain least squares up to rounding"});
  line.add("--time-limit", [&](const std::string& word) { cpd.time_limit_seconds = cli::parse_duration(word); },
           {.type = "TIME",
            .description = "Stop after this time, such as 90s, 30m or 2h, with the model of the last sweep"});
}

void add_start(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add("--seed",
           [&](const std::string& word) {
             cpd.seed = cli::parse_whole(word, 0, std::numeric_limits<std::uint64_t>::max());
             arguments.has_seed = true;
           },
           {.type = "N", .description = "Seed of the random initial factors", .fallback = std::to_string(cpd.seed)});
  line.add_path(
      "--init", arguments.initial,
      {.type = "MODEL",
       .description = "Start from the factors of this model, with its rank unless --rank is given, instead of "
                      "random ones. The tensor may have more indices than the model, such as after "
                      "blco-ingest --labels-from; their rows are random"});
}

void add_computing(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_choice<Device>("--device", cpd.device,
                          {{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}},
                          "Where to compute; auto takes the GPU if there is one and this build supports it");
  line.add_threads(cpd.threads);
  line.add_size(
      "--memory", arguments.budget.host_bytes,
      "Host memory budget of the whole job; with less memory, more chunks are read from disk again in every pass");
  line.add_size("--device-memory", arguments.budget.device_bytes,
                "Device memory budget; with less memory, more chunks are sent to the GPU in every pass",
                "90% of what is free");
  line.add_choice<Precision>(
      "--precision", cpd.precision, {{"f64", Precision::f64}, {"f32", Precision::f32}, {"mixed", Precision::mixed}},
      "Precision of the factors and of MTTKRP; f32 takes less memory and time, f64 is more accurate; mixed stores the "
      "factors as f32 and computes in f64");
  line.add_flag("--deterministic", cpd.deterministic,
                "Give the same model, bit for bit, with any number of threads and any memory budget; on the CPU only, "
                "and slower");
  line.add_choice<Resolution>("--resolution", cpd.resolution,
                              {{"auto", Resolution::automatic},
                               {"register", Resolution::register_based},
                               {"hierarchical", Resolution::hierarchical}},
                              "How the GPU adds up rows of the output; for measurements");
}

void add_options(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("TENSOR", arguments.tensor,
                {.type = "", .description = "A BLCO container from blco-ingest", .required = true});
  line.add_path(
      "-o,--output", arguments.output,
      {.type = "MODEL",
       .description = "File for the model (HDF5), written only once the fit ends; required unless --dry-run or several "
                      "ranks are given. With these its name must contain {rank}, such as model-{rank}.h5"});
  cpd.rank = 0;
  cli::add_rank_options(line, arguments.ranks, cpd.rank);
  line.add_whole("--sweeps", cpd.max_sweeps, 1,
                 {.type = "N",
                  .description = "Maximum number of sweeps, including those of a resumed model",
                  .fallback = std::to_string(cpd.max_sweeps)});
  cli::add_method_options(line, arguments.method, cpd);
  add_start(line, arguments);
  add_checkpoints(line, arguments);
  add_computing(line, arguments);
  line.add_path(
      "--trace", cpd.trace,
      {.type = "FILE",
       .description = "Write a Chrome trace of reads, copies and kernels to this file; view it on ui.perfetto.dev"});
  line.add_flag("--dry-run", arguments.dry_run,
                "Print the plan and stop: where chunks are kept, and the memory required");
  add_declared_gpu(line, arguments);
}

std::optional<TensorFile> open_validation(const Arguments& arguments) {
  if (arguments.method.validation.empty()) return std::nullopt;
  return std::make_optional<TensorFile>(arguments.method.validation);
}

// The error over cells that the fit sees falls all the while.
void note_validation(const Arguments& arguments, cli::Reporter& reporter) {
  std::error_code failure;
  if (!std::filesystem::equivalent(arguments.tensor, arguments.method.validation, failure)) return;
  reporter.note(
      "--validate names the tensor that is fitted, so that its error says nothing of unknown cells; give cells that "
      "the fit does not see");
}

void dry_run(Arguments& arguments, cli::Reporter& reporter) {
  const TensorFile tensor(arguments.tensor);
  const std::optional<TensorFile> validation = open_validation(arguments);
  cli::set_method(arguments.method, tensor.summary(), validation ? &*validation : nullptr, arguments.cpd);
  const bool declared = arguments.gpu.memory_bytes > 0;
  if (!declared && arguments.has_rates) {
    throw Error(ErrorKind::invalid_argument,
                "--link-bandwidth, --disk-bandwidth and --memory-bandwidth require --declare-gpu");
  }
  const CpdPlan plan =
      plan_starts(tensor, arguments.budget, arguments.cpd, arguments.ranks.starts, declared ? &arguments.gpu : nullptr);
  cli::report_plan(reporter, plan);
  cli::report_start(reporter, plan, tensor.summary(), arguments.initial, arguments.cpd.seed);
}

// Checks everything before the work starts.
void check(const Arguments& arguments) {
  if (arguments.cpd.rank == 0 && arguments.cpd.resume.empty() && arguments.initial.empty())
    refuse("--rank is required unless --init or --resume is given");
  if (!arguments.cpd.resume.empty() && !arguments.initial.empty()) refuse("give --init or --resume, not both");
  if (!arguments.cpd.resume.empty() && arguments.has_seed)
    refuse("--seed does not apply to --resume, which keeps the seed of its model; leave out --seed");
  if (arguments.cpd.checkpoint.empty() && arguments.has_every) refuse("--every requires --checkpoint");
  std::vector<std::filesystem::path> inputs = {arguments.tensor, arguments.initial, arguments.method.validation};
  cli::check_ranks(arguments.ranks, arguments.cpd, arguments.initial, arguments.output, inputs, arguments.dry_run);
  if (arguments.dry_run) return;
  if (arguments.gpu.memory_bytes > 0 || arguments.has_rates) {
    refuse("--declare-gpu and the bandwidths require --dry-run; a fit runs on a real GPU");
  }
  if (arguments.ranks.ranks.size() > 1) return;
  if (arguments.output.empty()) refuse("-o MODEL is required unless --dry-run or several ranks are given");
  cli::check_output(arguments.output, inputs);
  if (!arguments.cpd.checkpoint.empty()) cli::check_output(arguments.cpd.checkpoint, inputs, "--checkpoint");
  if (arguments.cpd.trace.empty()) return;
  // A checkpoint may also be the input to resume and the final output; a trace may be neither.
  inputs.insert(inputs.end(), {arguments.cpd.resume, arguments.cpd.checkpoint, arguments.output});
  cli::check_output(arguments.cpd.trace, inputs, "--trace");
  for (const std::filesystem::path& other : {arguments.cpd.checkpoint, arguments.output}) {
    if (arguments.cpd.trace.lexically_normal() == other.lexically_normal())
      refuse("--trace names the file of -o or --checkpoint; choose another");
  }
}

void save_model(const CpdModel& model, const Arguments& arguments, const CheckpointReport& last_checkpoint) {
  try {
    save(model, arguments.output);
  } catch (const Error& error) {
    if (arguments.cpd.checkpoint.empty() || last_checkpoint.failure) throw;
    throw Error(error.kind(),
                fmt::format("{}; the checkpoint {} holds this model", error.what(), arguments.cpd.checkpoint.string()));
  }
}

void decompose(Arguments& arguments, cli::Reporter& reporter) {
  check(arguments);
  CpdOptions& cpd = arguments.cpd;
  std::optional<CpdModel> initial;
  if (!arguments.initial.empty()) initial = load_model(arguments.initial);
  cpd.initial = initial ? &*initial : nullptr;
  cpd.on_progress =
      reporter.progress(" with the model of the last sweep; interrupt again to stop at once without a model");
  if (arguments.dry_run) return dry_run(arguments, reporter);
  const TensorFile tensor(arguments.tensor);
  const std::optional<TensorFile> validation = open_validation(arguments);
  note_validation(arguments, reporter);
  cli::set_method(arguments.method, tensor.summary(), validation ? &*validation : nullptr, cpd);
  if (arguments.ranks.is_search()) {
    return cli::fit_ranks(arguments.ranks, tensor, arguments.budget, cpd, arguments.output, reporter);
  }
  if (cpd.resume.empty() && !cpd.checkpoint.empty() && std::filesystem::exists(cpd.checkpoint)) {
    reporter.note(fmt::format("the checkpoint {0} will be replaced; to continue from it, give --resume {0}",
                              cpd.checkpoint.string()));
  }
  cpd.on_plan = [&](const CpdPlan& plan) {
    cli::report_plan(reporter, plan);
    cli::report_start(reporter, plan, tensor.summary(), arguments.initial, cpd.seed);
  };
  cli::RankNote ranks;
  cpd.on_sweep = [&](const SweepReport& report) {
    ranks.add(report);
    cli::report_sweep(reporter, report, cpd);
    return !cli::is_interrupted();
  };
  CheckpointReport last_checkpoint;
  cpd.on_checkpoint = [&](const CheckpointReport& report) {
    last_checkpoint = report;
    cli::report_checkpoint(reporter, report);
  };
  cpd.output = arguments.output;
  const CpdModel model = fit_cpd(tensor, arguments.budget, cpd);
  save_model(model, arguments, last_checkpoint);
  ranks.print(reporter, model.rank);
  cli::report_model(reporter, model, cpd, arguments.output);
  if (last_checkpoint.failure) {
    throw Error(ErrorKind::io, fmt::format("the model is whole in {}, but the last checkpoint is not saved: {}",
                                           arguments.output.string(), last_checkpoint.failure->what()));
  }
}

constexpr const char* about =
    "Fits a CP model to the tensor of a BLCO container. Chunks that do not fit in memory are streamed from disk.\n"
    "The model is a sum of R components, by falling weight: each a weight times the outer product of a column per "
    "mode.\n"
    "Cells that are not listed in the tensor X count as zero (--method complete: as unknown). The fit is\n"
    "1 - |X - model| / |X| over all cells, where |X| is the root of the sum of squares; methods other than als have "
    "an\n"
    "objective instead, which they minimise.";

constexpr const char* examples =
    "  blco-cpd calls.blco --rank 16 -o calls-model.h5\n"
    "  blco-cpd calls.blco --rank 32 --sweeps 100 --memory 512MiB -o calls-model.h5\n"
    "  blco-cpd calls.blco --rank 16 --nonnegative -o parts.h5\n"
    "  blco-cpd calls.blco --rank 16 --method apr -o rates.h5\n"
    "  blco-cpd ratings.blco --rank 8 --method complete --ridge 0.1 --validate held-out.blco -o ratings-model.h5";

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-cpd", about, examples);
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { decompose(arguments, reporter); });
}
