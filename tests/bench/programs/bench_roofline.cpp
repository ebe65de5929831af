// The machine's roofline and the formats' points under it, as tables and as JSON.
#include <fmt/format.h>

#include "tests/bench/programs/bench_report.hpp"
#include "tools/programs/cli.hpp"

namespace blco::bench {

std::vector<RooflinePoint> roofline_points(const FormatReport& report) {
  std::vector<RooflinePoint> points;
  for (const MeasuredFormat& format : report.formats) {
    if (!report.is_right(format)) continue;
    for (const FormatPass& pass : format.passes) {
      points.push_back({format.name, pass.mode, pass.flops, pass.bytes, pass.min_seconds, pass.set_bytes,
                        report.precision == Precision::f32 ? "f32" : "f64"});
    }
  }
  return points;
}

void print_roofline(const Roofline& roofline, std::span<const RooflinePoint> points) {
  fmt::print("roofline  {}", roofline.device);
  if (roofline.threads > 0) fmt::print(", {} thread{}", roofline.threads, roofline.threads == 1 ? "" : "s");
  fmt::print("\n\n{:<14} {:>10} {:>10}\n", "level", "loads GB/s", "set");
  for (const RooflineLevel& level : roofline.levels) {
    fmt::print("{:<14} {:>10.1f} {:>10}\n", level.name, level.bytes_per_second / 1e9, cli::format_bytes(level.bytes));
  }
  fmt::print("\n{:<14} {:>10}\n", "multiply-adds", "GFLOP/s");
  for (const RooflinePeak& peak : roofline.peaks) {
    fmt::print("{:<14} {:>10.1f}\n", peak.name, peak.flops_per_second / 1e9);
  }
  if (!roofline.warps.empty()) fmt::print("\n{:<20} {:>10}\n", "warps, each at once", "G/s");
  for (const WarpSpeed& of : roofline.warps) fmt::print("{:<20} {:>10.2f}\n", of.name, of.per_second / 1e9);
  if (points.empty()) return;
  fmt::print("\n{:<15} {:>4} {:>10} {:>10} {:>10} {:>8} {:>7}  {}\n", "format", "mode", "flop/byte", "GFLOP/s", "GB/s",
             "limit", "of it", "as fast as");
  for (const RooflinePoint& point : points) {
    const RooflineLevel* level = roofline.level_above(point);
    const RooflineLimit limit = roofline.limit_share(point);
    fmt::print("{:<15} {:>4} {:>10.4f} {:>10.2f} {:>10.1f} {:>8} {:>7.2f}  {}\n", point.format, point.mode,
               point.intensity(), point.flops_per_second() / 1e9, point.bytes_per_second() / 1e9, limit.name,
               limit.share, level == nullptr ? "no level: registers" : level->name);
  }
}

cli::Json roofline_json(const Roofline& roofline, std::span<const RooflinePoint> of_points) {
  cli::Json levels = cli::Json::array();
  for (const RooflineLevel& level : roofline.levels) {
    levels.push_back({{"name", level.name}, {"bytes", level.bytes}, {"bytes_per_second", level.bytes_per_second}});
  }
  cli::Json peaks = cli::Json::array();
  for (const RooflinePeak& peak : roofline.peaks) {
    peaks.push_back({{"name", peak.name}, {"flops_per_second", peak.flops_per_second}});
  }
  cli::Json warps = cli::Json::array();
  for (const WarpSpeed& of : roofline.warps) warps.push_back({{"name", of.name}, {"per_second", of.per_second}});
  cli::Json points = cli::Json::array();
  for (const RooflinePoint& point : of_points) {
    const RooflineLimit limit = roofline.limit_share(point);
    points.push_back({{"format", point.format},
                      {"mode", point.mode},
                      {"flops_per_second", point.flops_per_second()},
                      {"bytes_per_second", point.bytes_per_second()},
                      {"limit", limit.name},
                      {"limit_share", limit.share}});
  }
  return {{"device", roofline.device},
          {"threads", roofline.threads},
          {"levels", levels},
          {"peaks", peaks},
          {"warps", warps},
          {"points", points}};
}

}  // namespace blco::bench
