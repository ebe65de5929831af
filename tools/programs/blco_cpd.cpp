// blco-cpd: fits a CP model to a tensor that may be larger than memory.
#include <fmt/format.h>

#include <blco/cpd.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "tools/programs/cli.hpp"
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
    if (bytes_per_second == 0) throw Error(ErrorKind::invalid_argument, "a bandwidth cannot be 0");
  };
  line.add(name, assign,
           {.type = "SIZE",
            .description = description + " of that GPU's machine, a second",
            .fallback = cli::format_decimal_bytes(bytes_per_second)});
}

void add_declared_gpu(cli::CommandLine& line, Arguments& arguments) {
  DeclaredGpu& gpu = arguments.gpu;
  line.add_size("--declare-gpu", gpu.memory_bytes,
                "With --dry-run: plan for a GPU of this memory, which need not be here", "");
  add_rate(line, "--link-bandwidth", gpu.link_bytes_per_second, arguments.has_rates, "Link");
  add_rate(line, "--disk-bandwidth", gpu.disk_bytes_per_second, arguments.has_rates, "Disk");
  add_rate(line, "--memory-bandwidth", gpu.memory_bytes_per_second, arguments.has_rates, "Device memory");
}

void add_checkpoints(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("--checkpoint", cpd.checkpoint,
                {.type = "FILE", .description = "Save the model here too, every K sweeps and at the end"});
  line.add("--every",
           [&](const std::string& word) {
             cpd.checkpoint_sweeps = static_cast<int>(cli::parse_whole(word, 1, 1'000'000));
             arguments.has_every = true;
           },
           {.type = "K", .description = "Sweeps from one checkpoint to the next", .fallback = "1"});
  line.add_path("--resume", cpd.resume,
                {.type = "FILE",
                 .description = "Go on from this checkpoint or model, with its rank and seed, as if it had not ended"});
  line.add("--time-limit", [&](const std::string& word) { cpd.time_limit_seconds = cli::parse_duration(word); },
           {.type = "TIME", .description = "End with the last sweep finished after 90s, 30m or 2h"});
}

void add_options(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("TENSOR", arguments.tensor,
                {.type = "", .description = "A BLCO container, as blco-ingest writes it", .required = true});
  line.add_path(
      "-o,--output", arguments.output,
      {.type = "MODEL", .description = "The model (HDF5), which appears when it is whole; needed unless --dry-run"});
  cpd.rank = 0;
  line.add_whole("--rank", cpd.rank, 1,
                 {.type = "R", .description = "Components of the model, 1 to 4096; needed unless --resume"});
  line.add_whole("--sweeps", cpd.max_sweeps, 1,
                 {.type = "N",
                  .description = "Sweeps at most, those of a resumed model included",
                  .fallback = std::to_string(cpd.max_sweeps)});
  line.add_real("--tolerance", cpd.tolerance, "Stop when the fit changes by less; 0: never");
  line.add("--seed",
           [&](const std::string& word) {
             cpd.seed = cli::parse_whole(word, 0, std::numeric_limits<std::uint64_t>::max());
             arguments.has_seed = true;
           },
           {.type = "N", .description = "Seed of the initial factors", .fallback = std::to_string(cpd.seed)});
  line.add_path("--init", arguments.initial,
                {.type = "MODEL", .description = "Start from the factors of this model instead"});
  add_checkpoints(line, arguments);
  line.add_choice<Device>("--device", cpd.device,
                          {{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}},
                          "Where to compute; auto is the GPU if this build and machine have one");
  line.add_threads(cpd.threads);
  line.add_size("--memory", arguments.budget.host_bytes, "Host memory budget of the whole job");
  line.add_size("--device-memory", arguments.budget.device_bytes, "Device memory budget", "90% of what is free");
  line.add_choice<Precision>("--precision", cpd.precision, {{"f64", Precision::f64}, {"f32", Precision::f32}},
                             "Of factors and MTTKRP; Gram, solve and fit are always f64");
  line.add_flag("--deterministic", cpd.deterministic,
                "The same model, bit for bit, from any number of threads and any memory budget; on the CPU");
  line.add_choice<Resolution>("--resolution", cpd.resolution,
                              {{"auto", Resolution::automatic},
                               {"register", Resolution::register_based},
                               {"hierarchical", Resolution::hierarchical}},
                              "How the GPU adds up rows, for measurements");
  line.add_path(
      "--trace", cpd.trace,
      {.type = "FILE", .description = "Write a Chrome trace of reads, copies and kernels, for ui.perfetto.dev"});
  line.add_flag("--dry-run", arguments.dry_run, "Print the plan and end");
  add_declared_gpu(line, arguments);
}

void dry_run(const Arguments& arguments, cli::Reporter& reporter) {
  const TensorFile tensor(arguments.tensor);
  const bool declared = arguments.gpu.memory_bytes > 0;
  if (!declared && arguments.has_rates) {
    throw Error(ErrorKind::invalid_argument, "a bandwidth is of a declared GPU; give --declare-gpu too");
  }
  cli::report_plan(reporter, plan_cpd(tensor, arguments.budget, arguments.cpd, declared ? &arguments.gpu : nullptr));
}

// Checks everything before the work starts.
void check(const Arguments& arguments) {
  if (arguments.cpd.rank == 0 && arguments.cpd.resume.empty()) refuse("--rank is required unless a model is resumed");
  if (!arguments.cpd.resume.empty() && !arguments.initial.empty()) refuse("give --init or --resume, not both");
  if (!arguments.cpd.resume.empty() && arguments.has_seed) refuse("a resumed fit has its seed; leave --seed out");
  if (arguments.cpd.checkpoint.empty() && arguments.has_every) refuse("--every is of --checkpoint; give that too");
  if (arguments.dry_run) return;
  if (arguments.gpu.memory_bytes > 0 || arguments.has_rates) {
    refuse("--declare-gpu and its bandwidths are for --dry-run; a fit runs on the GPU that is there");
  }
  if (arguments.output.empty()) refuse("-o MODEL is required; see --help");
  std::vector<std::filesystem::path> inputs = {arguments.tensor, arguments.initial};
  cli::check_output(arguments.output, inputs);
  if (!arguments.cpd.checkpoint.empty()) cli::check_output(arguments.cpd.checkpoint, inputs, "--checkpoint");
  if (arguments.cpd.trace.empty()) return;
  // A checkpoint may also be the input to resume and the final output; a trace may be neither.
  inputs.insert(inputs.end(), {arguments.cpd.resume, arguments.cpd.checkpoint, arguments.output});
  cli::check_output(arguments.cpd.trace, inputs, "--trace");
  for (const std::filesystem::path& other : {arguments.cpd.checkpoint, arguments.output}) {
    if (arguments.cpd.trace.lexically_normal() == other.lexically_normal())
      refuse("--trace names a file that is written too; choose another");
  }
}

void decompose(Arguments& arguments, cli::Reporter& reporter) {
  check(arguments);
  CpdOptions& cpd = arguments.cpd;
  std::optional<CpdModel> initial;
  if (!arguments.initial.empty()) initial = load_model(arguments.initial);
  cpd.initial = initial ? &*initial : nullptr;
  cpd.on_progress = reporter.progress(", with the model of the last whole sweep; again to stop at once, without");
  if (arguments.dry_run) return dry_run(arguments, reporter);
  const TensorFile tensor(arguments.tensor);
  if (cpd.resume.empty() && !cpd.checkpoint.empty() && std::filesystem::exists(cpd.checkpoint)) {
    reporter.note(fmt::format("replacing {}; to go on from it, give it as --resume", cpd.checkpoint.string()));
  }
  cpd.on_plan = [&reporter](const CpdPlan& plan) { cli::report_plan(reporter, plan); };
  cli::RankNote ranks;
  cpd.on_sweep = [&](const SweepReport& report) {
    ranks.add(report);
    cli::report_sweep(reporter, report);
    return !cli::is_interrupted();
  };
  const CpdModel model = fit_cpd(tensor, arguments.budget, cpd);
  save(model, arguments.output);
  ranks.print(reporter, model.rank);
  cli::report_model(reporter, model, cpd, arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-cpd", "Fits a CP model to a BLCO container, streaming what memory does not hold.",
                        "  blco-cpd calls.blco --rank 16 -o calls-model.h5\n"
                        "  blco-cpd calls.blco --rank 32 --sweeps 100 --memory 512MiB -o calls-model.h5");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { decompose(arguments, reporter); });
}
