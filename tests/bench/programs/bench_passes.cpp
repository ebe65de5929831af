// Measured passes of our own format, as a table or as JSON.
#include <fmt/format.h>

#include "tests/bench/programs/bench_report.hpp"
#include "tools/programs/cli.hpp"

namespace blco::bench {
namespace {

// What the machine reports of itself, and the speeds that shares are relative to.
void print_speeds(const BenchmarkReport& report) {
  fmt::print("device  {}", report.plan.device);
  if (report.multiprocessors > 0)
    fmt::print(", {} multiprocessors, {} of L2 cache", report.multiprocessors, cli::format_bytes(report.cache_size));
  fmt::print(", {} thread{}; memory copies {:.1f} GB/s", report.plan.threads, report.plan.threads == 1 ? "" : "s",
             report.memory_bytes_per_second / 1e9);
  if (report.link_bytes_per_second > 0) fmt::print(", link {:.1f} GB/s", report.link_bytes_per_second / 1e9);
  fmt::print(", {} {:.1f} GB/s", report.multiprocessors > 0 ? "within the cache" : "loads within the first cache",
             report.cache_bytes_per_second / 1e9);
  if (report.additions_per_second > 0) fmt::print(", atomic additions {:.1f} G/s", report.additions_per_second / 1e9);
  fmt::print("\n");
}

void print_row(const Run& run, const std::string& mode, const PassMeasurement& pass) {
  fmt::print(
      "{:<9} {:<12} {:>4} {:>10.3f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}  {}\n",
      run.place, run.conflict_resolution, mode, pass.seconds * 1e3, pass.nonzeros_per_second / 1e6,
      pass.disk_bytes / 1e6, pass.link_bytes / 1e6, pass.memory_bytes / 1e6, pass.link_share, pass.memory_share,
      pass.cache_share, pass.additions_share, pass.bound());
}

std::string as_json(const Run& run, const PassMeasurement& pass) {
  return fmt::format(R"({{"chunks":"{}","conflict_resolution":"{}","mode":{},"seconds":{:.6g},"min_seconds":{:.6g},)",
                     run.place, run.conflict_resolution, pass.mode < 0 ? "null" : std::to_string(pass.mode),
                     pass.seconds, pass.min_seconds) +
         fmt::format(R"("nonzeros_per_second":{:.6g},"link_bytes":{:.0f},"disk_bytes":{:.0f},"memory_bytes":{:.0f},)"
                     R"("link_share":{:.4f},"memory_share":{:.4f},"cache_bytes":{:.0f},"cache_share":{:.4f},)"
                     R"("additions":{:.0f},"additions_share":{:.4f},"bound":"{}","slots":{}}})",
                     pass.nonzeros_per_second, pass.link_bytes, pass.disk_bytes, pass.memory_bytes, pass.link_share,
                     pass.memory_share, pass.cache_bytes, pass.cache_share, pass.additions, pass.additions_share,
                     pass.bound(), run.report.plan.slots);
}

}  // namespace

void print_passes(std::span<const Run> runs) {
  const BenchmarkReport& first = runs.front().report;
  print_speeds(first);
  fmt::print("\n{:<9} {:<12} {:>4} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8}  {}\n", "chunks",
             "resolution", "mode", "ms", "M nnz/s", "disk MB", "link MB", "memory MB", "of link", "of mem", "of cache",
             "of adds", "bound");
  for (const Run& run : runs) {
    for (const PassMeasurement& pass : run.report.passes) print_row(run, std::to_string(pass.mode), pass);
    fmt::print("{:<9} {:<12} {:>4} {:>10} {:>10.1f}\n", run.place, run.conflict_resolution, "mean", "",
               run.report.mean_speed() / 1e6);
    if (run.report.loss_pass) print_row(run, "loss", *run.report.loss_pass);
  }
  for (const Run& run : runs) {
    if (!run.report.loss_pass) continue;
    fmt::print("\nchunks: {}, conflict resolution {}: a loss pass to all modes takes {:.2f} of the time of {} MTTKRPs",
               run.place, run.conflict_resolution, run.report.loss_ratio(), run.report.passes.size());
  }
  if (first.loss_pass) fmt::print("\n");
  if (runs.back().place == "streamed") {
    fmt::print("\nstreaming reaches {:.2f} of the speed in memory\n",
               runs.back().report.mean_speed() / runs.front().report.mean_speed());
  }
}

// Prints one object; shares are relative to the measured speeds.
void print_passes_json(std::span<const Run> runs) {
  const BenchmarkReport& first = runs.front().report;
  fmt::print(
      R"({{"device":"{}","threads":{},"link_bytes_per_second":{:.6g},"memory_bytes_per_second":{:.6g},"cache_bytes_per_second":{:.6g},"additions_per_second":{:.6g},"multiprocessors":{},"cache_size":{},"passes":[)",
      first.plan.device, first.plan.threads, first.link_bytes_per_second, first.memory_bytes_per_second,
      first.cache_bytes_per_second, first.additions_per_second, first.multiprocessors, first.cache_size);
  const char* separator = "";
  for (const Run& run : runs) {
    for (const PassMeasurement& pass : run.report.passes) {
      fmt::print("{}{}", separator, as_json(run, pass));
      separator = ",";
    }
  }
  fmt::print("]");
  if (first.loss_pass) {
    separator = R"(,"loss_passes":[)";
    for (const Run& run : runs) {
      fmt::print(R"({}{{"ratio":{:.4f},"pass":{}}})", separator, run.report.loss_ratio(),
                 as_json(run, *run.report.loss_pass));
      separator = ",";
    }
    fmt::print("]");
  }
  fmt::print("}}\n");
}

}  // namespace blco::bench
