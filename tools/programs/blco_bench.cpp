// blco-bench: measures MTTKRP on a tensor, in memory and streamed, and what bounds it.
#include <fmt/format.h>

#include <blco/benchmark.hpp>
#include <optional>

#include "tools/programs/cli.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path tensor;
  MemoryBudget cap;
  CpdOptions cpd;
  BenchmarkOptions benchmark;
  double resident_share = 1;  // of the chunks, on the device
  bool json = false;
};

struct Run {
  std::string place;       // "memory", "streamed"
  std::string resolution;  // "-" on the CPU
  BenchmarkReport report;
};

void add_options(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("TENSOR", arguments.tensor,
                {.type = "", .description = "A BLCO container from blco-ingest", .required = true});
  line.add_whole("--rank", cpd.rank, 1,
                 {.type = "R", .description = "Columns of the factor matrices, 1 to 4096", .required = true});
  line.add_whole("--repeats", arguments.benchmark.repeats, 1,
                 {.type = "K", .description = "Passes over each mode; the median time counts", .fallback = "5"});
  line.add_choice<Device>("--device", cpd.device,
                          {{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}},
                          "Where to compute; auto takes the GPU if there is one and this build supports it");
  line.add_threads(cpd.threads);
  line.add_size("--memory", arguments.cap.host_bytes, "Also measure with chunks streamed under this host memory budget",
                "");
  line.add_size("--device-memory", arguments.cap.device_bytes,
                "Also measure with chunks streamed under this device memory budget", "");
  line.add_real(
      "--resident-share", arguments.resident_share,
      "On a GPU: also measure with this share of the chunks in device memory, from 0 to 1, and the rest streamed");
  line.add_choice<Precision>("--precision", cpd.precision,
                             {{"f64", Precision::f64}, {"f32", Precision::f32}, {"mixed", Precision::mixed}},
                             "Precision of the factors and of MTTKRP; mixed: factors in f32, sums in f64");
  line.add_flag("--deterministic", cpd.deterministic, "Compute as blco-cpd --deterministic does, on the CPU");
  line.add_flag(
      "--baseline", arguments.benchmark.baseline,
      "Also time the loop of ALTO, with order and rank compiled in, and compare minimum times; for orders 3 to 5 and "
      "ranks 16, 32 and 64");
  line.add_flag("--json", arguments.json, "Print JSON instead of a table");
}

std::vector<Run> measure(const Arguments& arguments) {
  if (arguments.resident_share > 1) throw Error(ErrorKind::invalid_argument, "--resident-share must be from 0 to 1");
  const TensorFile tensor(arguments.tensor);
  const CpdPlan plan = plan_cpd(tensor, {}, arguments.cpd);
  if (!plan.device_note.empty()) cli::log_info("blco-bench", plan.device_note + "; measuring the CPU");
  const bool on_device = plan.device_budget_bytes > 0;
  MemoryBudget cap = arguments.cap;
  if (on_device && arguments.resident_share < 1) {
    const double off_device = static_cast<double>(plan.resident_bytes) * (1 - arguments.resident_share);
    cap.device_bytes = plan.device_planned_bytes - static_cast<std::uint64_t>(off_device);
  }

  std::vector<std::pair<std::string, Resolution>> resolutions{{"-", Resolution::automatic}};
  if (on_device) {
    resolutions = {{"auto", Resolution::automatic},
                   {"register", Resolution::register_based},
                   {"hierarchical", Resolution::hierarchical}};
  }
  std::vector<Run> runs;
  for (const auto& [name, resolution] : resolutions) {
    CpdOptions options = arguments.cpd;
    options.resolution = resolution;
    runs.push_back({"memory", name, benchmark_mttkrp(tensor, arguments.benchmark, {}, options)});
  }
  if (cap.host_bytes > 0 || cap.device_bytes > 0) {
    const auto& [name, resolution] = resolutions.front();
    runs.push_back({"streamed", name, benchmark_mttkrp(tensor, {arguments.benchmark.repeats}, cap, arguments.cpd)});
  }
  return runs;
}

void print_baseline(const BenchmarkReport& report) {
  if (report.ratio_to_baseline() == 0) {
    fmt::print("\nbaseline  not available for this order, rank or CPU\n");
    return;
  }
  fmt::print("\n{:<9} {:>4} {:>10} {:>12} {:>8}\n", "chunks", "mode", "min ms", "baseline ms", "ratio");
  for (const PassMeasurement& pass : report.passes) {
    fmt::print("{:<9} {:>4} {:>10.3f} {:>12.3f} {:>8.2f}\n", "memory", pass.mode, pass.min_seconds * 1e3,
               pass.baseline_min_seconds * 1e3, pass.min_seconds / pass.baseline_min_seconds);
  }
  fmt::print("{:<9} {:>4} {:>10} {:>12} {:>8.2f}\n", "memory", "all", "", "", report.ratio_to_baseline());
}

void print_table(const std::vector<Run>& runs) {
  const BenchmarkReport& first = runs.front().report;
  fmt::print("device  {}, {} thread{}; memory copies {:.1f} GB/s", first.plan.device, first.plan.threads,
             first.plan.threads == 1 ? "" : "s", first.memory_bytes_per_second / 1e9);
  if (first.link_bytes_per_second > 0) fmt::print(", link {:.1f} GB/s", first.link_bytes_per_second / 1e9);
  if (first.cache_bytes_per_second > 0)
    fmt::print(", within the cache {:.1f} GB/s", first.cache_bytes_per_second / 1e9);
  fmt::print("\n\n{:<9} {:<12} {:>4} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8}\n", "chunks", "resolution", "mode",
             "ms", "M nnz/s", "link MB", "memory MB", "of link", "of mem", "of cache");
  for (const Run& run : runs) {
    for (const PassMeasurement& pass : run.report.passes) {
      fmt::print("{:<9} {:<12} {:>4} {:>10.3f} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.2f} {:>8.2f} {:>8.2f}\n", run.place,
                 run.resolution, pass.mode, pass.seconds * 1e3, pass.nonzeros_per_second / 1e6, pass.link_bytes / 1e6,
                 pass.memory_bytes / 1e6, pass.link_share, pass.memory_share, pass.cache_share);
    }
    fmt::print("{:<9} {:<12} {:>4} {:>10} {:>10.1f}\n", run.place, run.resolution, "mean", "",
               run.report.mean_speed() / 1e6);
  }
  if (runs.back().place == "streamed") {
    fmt::print("\nstreaming reaches {:.2f} of the speed in memory\n",
               runs.back().report.mean_speed() / runs.front().report.mean_speed());
  }
}

// Prints one object; shares are relative to the measured speeds.
void print_json(const std::vector<Run>& runs) {
  const BenchmarkReport& first = runs.front().report;
  fmt::print(
      R"({{"device":"{}","threads":{},"link_bytes_per_second":{:.6g},"memory_bytes_per_second":{:.6g},"cache_bytes_per_second":{:.6g},"passes":[)",
      first.plan.device, first.plan.threads, first.link_bytes_per_second, first.memory_bytes_per_second,
      first.cache_bytes_per_second);
  const char* separator = "";
  for (const Run& run : runs) {
    for (const PassMeasurement& pass : run.report.passes) {
      fmt::print(R"({}{{"chunks":"{}","resolution":"{}","mode":{},"seconds":{:.6g},"min_seconds":{:.6g},)", separator,
                 run.place, run.resolution, pass.mode, pass.seconds, pass.min_seconds);
      if (pass.baseline_min_seconds > 0) fmt::print(R"("baseline_min_seconds":{:.6g},)", pass.baseline_min_seconds);
      fmt::print(R"("nonzeros_per_second":{:.6g},"link_bytes":{:.0f},"disk_bytes":{:.0f},"memory_bytes":{:.0f},)"
                 R"("link_share":{:.4f},"memory_share":{:.4f},"cache_bytes":{:.0f},"cache_share":{:.4f}}})",
                 pass.nonzeros_per_second, pass.link_bytes, pass.disk_bytes, pass.memory_bytes, pass.link_share,
                 pass.memory_share, pass.cache_bytes, pass.cache_share);
      separator = ",";
    }
  }
  fmt::print("]}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line(
      "blco-bench",
      "Measures how fast MTTKRP runs on each mode of a tensor, in memory and streamed, and what limits it.",
      "  blco-bench calls.blco --rank 32\n"
      "  blco-bench calls.blco --rank 32 --device cuda --device-memory 2GiB --json");
  Arguments arguments;
  add_options(line, arguments);
  return line.run(argc, argv, [&] {
    const std::vector<Run> runs = measure(arguments);
    if (arguments.json) {
      print_json(runs);
    } else {
      print_table(runs);
      if (arguments.benchmark.baseline) print_baseline(runs.front().report);
    }
  });
}
