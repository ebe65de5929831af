// blco-bench: measures MTTKRP on a tensor, in memory and streamed, and what bounds it.
#include <fmt/format.h>

#include <algorithm>
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
  std::optional<Resolution> resolution = {};  // none: every one
  double resident_share = 1;                  // of the chunks, on the device
  double host_share = 1;                      // of the other chunks, in host memory
  bool disk = false;
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
  line.add_whole(
      "--rank", cpd.rank, 1,
      {.type = "R", .description = "Columns of the factor matrices, 1 to 4096; required unless --disk is given"});
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
  line.add_real(
      "--host-share", arguments.host_share,
      "On a GPU: with --resident-share, share of the streamed chunks in host memory, from 0 to 1; the others are "
      "read from disk in every pass");
  line.add_whole("--lanes", cpd.lanes, 2,
                 {.type = "N",
                  .description = "On a GPU: number of buffers between disk and device, 2 to 64, where memory has room",
                  .fallback = "as the plan chooses"});
  line.add_choice<std::optional<Resolution>>(
      "--resolution", arguments.resolution,
      {{"all", std::nullopt},
       {"auto", Resolution::automatic},
       {"register", Resolution::register_based},
       {"hierarchical", Resolution::hierarchical}},
      "On a GPU: how rows of the output are added up; all measures each in turn");
  line.add_choice<KernelVariant>(
      "--variant", cpd.variant,
      {{"usual", KernelVariant::usual}, {"wide", KernelVariant::wide}, {"wide-deep", KernelVariant::wide_deep}},
      "On a GPU, for orders 3 to 5 at rank 32 with f64 sums: half a warp for a nonzero (usual), "
      "a warp (wide), or a warp with four nonzeros in flight (wide-deep)");
  line.add_choice<Precision>("--precision", cpd.precision,
                             {{"f64", Precision::f64}, {"f32", Precision::f32}, {"mixed", Precision::mixed}},
                             "Precision of the factors and of MTTKRP; mixed: factors in f32, sums in f64");
  line.add_flag("--deterministic", cpd.deterministic, "Compute as blco-cpd --deterministic does, on the CPU");
  line.add_flag(
      "--baseline", arguments.benchmark.baseline,
      "Also time the loop of ALTO, with order and rank compiled in, and compare minimum times; for orders 3 to 5 and "
      "ranks 16, 32 and 64");
  line.add_flag("--disk", arguments.disk,
                "Measure instead how fast the container can be read, decompressed, checked and staged for a GPU, by 1, "
                "2, 4 ... threads up to --threads: from disk, from disk past the system's cache, and from the cache; "
                "takes --repeats too");
  line.add_flag("--json", arguments.json, "Print JSON instead of a table");
}

void check(const Arguments& arguments) {
  if (arguments.resident_share > 1) throw Error(ErrorKind::invalid_argument, "--resident-share must be from 0 to 1");
  if (arguments.host_share > 1) throw Error(ErrorKind::invalid_argument, "--host-share must be from 0 to 1");
  if (arguments.host_share < 1 && arguments.resident_share == 1)
    throw Error(ErrorKind::invalid_argument, "--host-share requires --resident-share");
  if (arguments.host_share < 1 && arguments.cap.host_bytes > 0)
    throw Error(ErrorKind::invalid_argument, "--host-share and --memory exclude each other");
}

// The budgets that leave the shares asked for in device and host memory; zero where none was asked for.
MemoryBudget streaming_budget(const Arguments& arguments, const TensorFile& tensor, const CpdPlan& plan) {
  MemoryBudget cap = arguments.cap;
  if (plan.device_budget_bytes == 0 || arguments.resident_share == 1) return cap;
  const double off_device = static_cast<double>(plan.resident_bytes) * (1 - arguments.resident_share);
  cap.device_bytes = plan.device_planned_bytes - static_cast<std::uint64_t>(off_device);
  if (arguments.host_share == 1) return cap;
  const CpdPlan streamed = plan_cpd(tensor, cap, arguments.cpd);
  const double off_host = static_cast<double>(streamed.link_bytes_per_pass) * (1 - arguments.host_share);
  const std::uint64_t less = std::min(streamed.planned_bytes, static_cast<std::uint64_t>(off_host));
  cap.host_bytes = std::max(streamed.minimum_bytes, streamed.planned_bytes - less);
  return cap;
}

std::vector<std::pair<std::string, Resolution>> resolutions_of(const Arguments& arguments, bool on_device) {
  if (!on_device) return {{"-", Resolution::automatic}};
  std::vector<std::pair<std::string, Resolution>> resolutions{{"auto", Resolution::automatic},
                                                              {"register", Resolution::register_based},
                                                              {"hierarchical", Resolution::hierarchical}};
  if (arguments.resolution)
    std::erase_if(resolutions, [&](const auto& one) { return one.second != *arguments.resolution; });
  return resolutions;
}

std::vector<Run> measure(const Arguments& arguments) {
  check(arguments);
  const TensorFile tensor(arguments.tensor);
  const CpdPlan plan = plan_cpd(tensor, {}, arguments.cpd);
  if (!plan.device_note.empty()) cli::log_info("blco-bench", plan.device_note + "; measuring the CPU");
  const bool on_device = plan.device_budget_bytes > 0;
  const MemoryBudget cap = streaming_budget(arguments, tensor, plan);
  const auto resolutions = resolutions_of(arguments, on_device);
  std::vector<Run> runs;
  for (const auto& [name, resolution] : resolutions) {
    CpdOptions options = arguments.cpd;
    options.resolution = resolution;
    runs.push_back({"memory", name, benchmark_mttkrp(tensor, arguments.benchmark, {}, options)});
  }
  if (cap.host_bytes > 0 || cap.device_bytes > 0) {
    const auto& [name, resolution] = resolutions.front();
    CpdOptions options = arguments.cpd;
    options.resolution = resolution;
    runs.push_back({"streamed", name, benchmark_mttkrp(tensor, {arguments.benchmark.repeats}, cap, options)});
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

// What the machine reports of itself, and the speeds that shares are relative to.
void print_speeds(const BenchmarkReport& report) {
  fmt::print("device  {}", report.plan.device);
  if (report.multiprocessors > 0)
    fmt::print(", {} multiprocessors, {} of L2 cache", report.multiprocessors, cli::format_bytes(report.cache_size));
  fmt::print(", {} thread{}; memory copies {:.1f} GB/s", report.plan.threads, report.plan.threads == 1 ? "" : "s",
             report.memory_bytes_per_second / 1e9);
  if (report.link_bytes_per_second > 0) fmt::print(", link {:.1f} GB/s", report.link_bytes_per_second / 1e9);
  fmt::print(", within the cache {:.1f} GB/s", report.cache_bytes_per_second / 1e9);
  if (report.additions_per_second > 0) fmt::print(", atomic additions {:.1f} G/s", report.additions_per_second / 1e9);
  fmt::print("\n");
}

void print_table(const std::vector<Run>& runs) {
  const BenchmarkReport& first = runs.front().report;
  print_speeds(first);
  fmt::print("\n{:<9} {:<12} {:>4} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8}  {}\n", "chunks",
             "resolution", "mode", "ms", "M nnz/s", "disk MB", "link MB", "memory MB", "of link", "of mem", "of cache",
             "of adds", "bound");
  for (const Run& run : runs) {
    for (const PassMeasurement& pass : run.report.passes) {
      fmt::print(
          "{:<9} {:<12} {:>4} {:>10.3f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}  "
          "{}\n",
          run.place, run.resolution, pass.mode, pass.seconds * 1e3, pass.nonzeros_per_second / 1e6,
          pass.disk_bytes / 1e6, pass.link_bytes / 1e6, pass.memory_bytes / 1e6, pass.link_share, pass.memory_share,
          pass.cache_share, pass.additions_share, pass.bound());
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
      R"({{"device":"{}","threads":{},"link_bytes_per_second":{:.6g},"memory_bytes_per_second":{:.6g},"cache_bytes_per_second":{:.6g},"additions_per_second":{:.6g},"multiprocessors":{},"cache_size":{},"passes":[)",
      first.plan.device, first.plan.threads, first.link_bytes_per_second, first.memory_bytes_per_second,
      first.cache_bytes_per_second, first.additions_per_second, first.multiprocessors, first.cache_size);
  const char* separator = "";
  for (const Run& run : runs) {
    for (const PassMeasurement& pass : run.report.passes) {
      fmt::print(R"({}{{"chunks":"{}","resolution":"{}","mode":{},"seconds":{:.6g},"min_seconds":{:.6g},)", separator,
                 run.place, run.resolution, pass.mode, pass.seconds, pass.min_seconds);
      if (pass.baseline_min_seconds > 0) fmt::print(R"("baseline_min_seconds":{:.6g},)", pass.baseline_min_seconds);
      fmt::print(R"("nonzeros_per_second":{:.6g},"link_bytes":{:.0f},"disk_bytes":{:.0f},"memory_bytes":{:.0f},)"
                 R"("link_share":{:.4f},"memory_share":{:.4f},"cache_bytes":{:.0f},"cache_share":{:.4f},)"
                 R"("additions":{:.0f},"additions_share":{:.4f},"bound":"{}","lanes":{}}})",
                 pass.nonzeros_per_second, pass.link_bytes, pass.disk_bytes, pass.memory_bytes, pass.link_share,
                 pass.memory_share, pass.cache_bytes, pass.cache_share, pass.additions, pass.additions_share,
                 pass.bound(), run.report.plan.lanes);
      separator = ",";
    }
  }
  fmt::print("]}}\n");
}

// Rates of one read, per second and per second of one processor.
struct Rates {
  double stored;  // bytes
  double nonzeros;
  double stored_per_core;
  double nonzeros_per_core;
};

Rates rates_of(const DiskReport& report, const DiskMeasurement& read) {
  const double bytes = static_cast<double>(read.readers == 0 ? report.file_bytes : report.stored_bytes);
  const auto nnz = static_cast<double>(report.nnz);
  return {bytes / read.seconds, nnz / read.seconds, bytes / read.processor_seconds, nnz / read.processor_seconds};
}

const char* source_of(const DiskMeasurement& read) {
  return !read.cold ? "cache" : read.direct ? "disk, direct" : "disk";
}

void print_disk_table(const DiskReport& report) {
  const auto nnz = static_cast<double>(report.nnz);
  fmt::print("chunks  {:.2f} bytes per nonzero on disk, {:.2f} on the link\n\n",
             static_cast<double>(report.stored_bytes) / nnz, static_cast<double>(report.payload_bytes) / nnz);
  fmt::print("{:<12} {:<12} {:>10} {:>10} {:>10} {:>14} {:>14}\n", "from", "by", "ms", "GB/s", "M nnz/s",
             "GB/s of a core", "M nnz/s of one");
  for (const DiskMeasurement& read : report.reads) {
    const Rates rates = rates_of(report, read);
    const std::string by =
        read.readers == 0 ? "plain read" : fmt::format("{} reader{}", read.readers, read.readers == 1 ? "" : "s");
    fmt::print("{:<12} {:<12} {:>10.1f} {:>10.2f} {:>10.1f} {:>14.2f} {:>14.1f}\n", source_of(read), by,
               read.seconds * 1e3, rates.stored / 1e9, rates.nonzeros / 1e6, rates.stored_per_core / 1e9,
               rates.nonzeros_per_core / 1e6);
  }
}

void print_disk_json(const DiskReport& report) {
  fmt::print(R"({{"nonzeros":{},"file_bytes":{},"stored_bytes":{},"payload_bytes":{},"reads":[)", report.nnz,
             report.file_bytes, report.stored_bytes, report.payload_bytes);
  const char* separator = "";
  for (const DiskMeasurement& read : report.reads) {
    fmt::print(R"({}{{"from":"{}","readers":{},"seconds":{:.6g},"processor_seconds":{:.6g}}})", separator,
               source_of(read), read.readers, read.seconds, read.processor_seconds);
    separator = ",";
  }
  fmt::print("]}}\n");
}

void measure_disk(const Arguments& arguments) {
  const DiskReport report =
      benchmark_disk(TensorFile(arguments.tensor), {arguments.benchmark.repeats, arguments.cpd.threads});
  if (arguments.json) return print_disk_json(report);
  print_disk_table(report);
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line(
      "blco-bench",
      "Measures how fast MTTKRP runs on each mode of a tensor, in memory and streamed, and what limits it.",
      "  blco-bench calls.blco --rank 32\n"
      "  blco-bench calls.blco --rank 32 --device cuda --device-memory 2GiB --json\n"
      "  blco-bench calls.blco --disk");
  Arguments arguments;
  arguments.cpd.rank = 0;
  add_options(line, arguments);
  return line.run(argc, argv, [&] {
    if (arguments.disk) return measure_disk(arguments);
    if (arguments.cpd.rank == 0) throw Error(ErrorKind::invalid_argument, "--rank is required unless --disk is given");
    const std::vector<Run> runs = measure(arguments);
    if (arguments.json) {
      print_json(runs);
    } else {
      print_table(runs);
      if (arguments.benchmark.baseline) print_baseline(runs.front().report);
    }
  });
}
