// blco-cpd: a CP model of a tensor that need not fit in memory.
#include <fmt/format.h>
#include <unistd.h>

#include <blco/cpd.hpp>
#include <csignal>
#include <cstdio>
#include <optional>

#include "tools/cli.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path tensor;
  std::filesystem::path output;
  std::filesystem::path initial;
  MemoryBudget budget;
  CpdOptions cpd;
  bool dry_run = false;
  DeclaredGpu gpu;
  bool has_rates = false;  // of that GPU
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

void add_options(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("TENSOR", arguments.tensor,
                {.type = "", .description = "A BLCO container, as blco-ingest writes it", .required = true});
  line.add_path(
      "-o,--output", arguments.output,
      {.type = "MODEL", .description = "The model (HDF5), which appears when it is whole; needed unless --dry-run"});
  line.add_whole("--rank", cpd.rank, 1,
                 {.type = "R", .description = "Components of the model, 1 to 4096", .required = true});
  line.add_whole("--iterations", cpd.max_sweeps, 1,
                 {.type = "N", .description = "Sweeps at most", .fallback = std::to_string(cpd.max_sweeps)});
  line.add_real("--tolerance", cpd.tolerance, "Stop when the fit changes by less; 0: never");
  line.add_whole("--seed", cpd.seed, 0,
                 {.type = "N", .description = "Seed of the initial factors", .fallback = std::to_string(cpd.seed)});
  line.add_path("--init", arguments.initial,
                {.type = "MODEL", .description = "Start from the factors of this model instead"});
  line.add_choice<Device>("--device", cpd.device,
                          {{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}},
                          "Where to compute; auto is the GPU if this build and machine have one");
  line.add_threads(cpd.threads);
  line.add_size("--host-memory", arguments.budget.host_bytes, "Host memory budget of the whole job");
  line.add_size("--device-memory", arguments.budget.device_bytes, "Device memory budget", "90% of what is free");
  line.add_choice<Arithmetic>("--precision", cpd.arithmetic, {{"f64", Arithmetic::f64}, {"f32", Arithmetic::f32}},
                              "Of factors and MTTKRP; Gram, solve and fit are always f64");
  line.add_choice<KernelResolution>("--resolution", cpd.resolution,
                                    {{"auto", KernelResolution::automatic},
                                     {"register", KernelResolution::register_based},
                                     {"hierarchical", KernelResolution::hierarchical}},
                                    "How the GPU adds up rows, for measurements");
  line.add_path(
      "--trace", cpd.trace,
      {.type = "FILE", .description = "Write a Chrome trace of reads, copies and kernels, for ui.perfetto.dev"});
  line.add_flag("--dry-run", arguments.dry_run, "Print the plan and end");
  add_declared_gpu(line, arguments);
}

volatile std::sig_atomic_t interrupted = 0;

// The first Ctrl-C keeps the model of the sweep in progress; the second ends the process at once.
void catch_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    interrupted = 1;
    constexpr char note[] = "blco-cpd: finishing this sweep; interrupt again to stop at once, without a model\n";
    static_cast<void>(!write(STDERR_FILENO, note, sizeof(note) - 1));
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

// What a plan for a GPU has beyond the one for a CPU.
void print_device_plan(const CpdPlan& plan) {
  fmt::print("device  {} of a budget of {}; at least {} needed; {} lanes, {} of resident chunks\n",
             cli::format_bytes(plan.device_planned_bytes), cli::format_bytes(plan.device_budget_bytes),
             cli::format_bytes(plan.device_minimum_bytes), plan.lanes, cli::format_bytes(plan.resident_bytes));
  fmt::print("link    {} a pass\n", cli::format_bytes(plan.link_bytes_per_pass));
  for (const PassSeconds& pass : plan.passes) {
    fmt::print(
        "pass    mode {}: about {:.3g} s, bound by {} (link {:.3g}, disk {:.3g}, memory {:.3g}, cache {:.3g}, "
        "additions {:.3g})\n",
        pass.mode, pass.longest(), pass.bound(), pass.link, pass.disk, pass.memory, pass.cache, pass.additions);
  }
}

void print_plan(const CpdPlan& plan) {
  if (!plan.device_note.empty()) fmt::print("device  {}; computing on the CPU\n", plan.device_note);
  const bool has_device = plan.device_budget_bytes > 0;
  fmt::print("plan    {}, {} thread{}; {} chunk{}: {} {}, {} packed in memory, {} streamed; {} read a pass\n",
             plan.device, plan.threads, plan.threads == 1 ? "" : "s", cli::format_count(plan.chunk_count),
             plan.chunk_count == 1 ? "" : "s", cli::format_count(has_device ? plan.device_chunks : plan.decoded_chunks),
             has_device ? "on the device" : "decoded in memory", cli::format_count(plan.packed_chunks),
             cli::format_count(plan.streamed_chunks), cli::format_bytes(plan.disk_bytes_per_pass));
  fmt::print("memory  {} of a budget of {}; at least {} needed\n", cli::format_bytes(plan.planned_bytes),
             cli::format_bytes(plan.budget_bytes), cli::format_bytes(plan.minimum_bytes));
  if (has_device) print_device_plan(plan);
  std::fflush(stdout);
}

bool print_sweep(const SweepReport& report) {
  fmt::print("sweep {:>3}  fit {:.12f}  change {:+.1e}  {:.2f} s  read {}\n", report.sweep, report.fit,
             report.fit_change, report.seconds, cli::format_bytes(report.bytes_read));
  std::fflush(stdout);
  return interrupted == 0;
}

std::string explain(StopReason reason, const CpdOptions& cpd) {
  switch (reason) {
    case StopReason::tolerance:
      return fmt::format("the fit changed by less than {}", cpd.tolerance);
    case StopReason::sweeps:
      return fmt::format("{} sweep{} done, the most allowed", cpd.max_sweeps, cpd.max_sweeps == 1 ? "" : "s");
    case StopReason::cancelled:
      return "interrupted; the model is that of the last whole sweep";
    case StopReason::time:
      return "out of time";
  }
  return to_string(reason);
}

void print_dry_run(const Arguments& arguments) {
  const TensorFile tensor(arguments.tensor);
  const bool declared = arguments.gpu.memory_bytes > 0;
  if (!declared && arguments.has_rates) {
    throw Error(ErrorKind::invalid_argument, "a bandwidth is of a declared GPU; give --declare-gpu too");
  }
  print_plan(plan_cpd(tensor, arguments.budget, arguments.cpd, declared ? &arguments.gpu : nullptr));
}

void decompose(Arguments& arguments) {
  if (arguments.dry_run) return print_dry_run(arguments);
  if (arguments.gpu.memory_bytes > 0 || arguments.has_rates) {
    throw Error(ErrorKind::invalid_argument,
                "--declare-gpu and its bandwidths are for --dry-run; a fit runs on the GPU that is there");
  }
  if (arguments.output.empty()) throw Error(ErrorKind::invalid_argument, "-o MODEL is required; see --help");
  const std::filesystem::path inputs[] = {arguments.tensor, arguments.initial};
  cli::check_output(arguments.output, inputs);
  const TensorFile tensor(arguments.tensor);
  std::optional<CpdModel> initial;
  if (!arguments.initial.empty()) initial = load_model(arguments.initial);
  arguments.cpd.initial = initial ? &*initial : nullptr;
  arguments.cpd.on_plan = print_plan;
  arguments.cpd.on_sweep = print_sweep;
  catch_interrupt();

  const CpdModel model = fit_cpd(tensor, arguments.budget, arguments.cpd);
  save(model, arguments.output);

  fmt::print("stopped {}\n", explain(model.stop_reason, arguments.cpd));
  fmt::print("model   {} (rank {}, fit {:.6f})\n", arguments.output.string(), model.rank, model.fit());
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-cpd", "Fits a CP model to a BLCO container, streaming what memory does not hold.",
                        "  blco-cpd calls.blco --rank 16 -o calls-model.h5\n"
                        "  blco-cpd calls.blco --rank 32 --iterations 100 --host-memory 512MiB -o calls-model.h5");
  Arguments arguments;
  add_options(line, arguments);
  return line.run(argc, argv, [&] { decompose(arguments); });
}
