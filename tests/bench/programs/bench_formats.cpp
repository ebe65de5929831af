// Measured formats side by side, as tables or as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/bench/programs/bench_report.hpp"
#include "tools/programs/cli.hpp"

namespace blco::bench {
namespace {

double gflops(const FormatPass& pass) { return pass.nominal_flops / pass.min_seconds / 1e9; }

double intensity(const FormatPass& pass) { return pass.bytes > 0 ? pass.flops / pass.bytes : 0; }

// The geometric mean over the modes.
double mean_gflops(const MeasuredFormat& format) {
  double logarithms = 0;
  for (const FormatPass& pass : format.passes) logarithms += std::log(gflops(pass));
  return std::exp(logarithms / static_cast<double>(format.passes.size()));
}

// Measured, and right.
bool counts(const FormatReport& report, const MeasuredFormat& format) {
  return format.refusal.empty() && report.is_right(format);
}

const MeasuredFormat* ours_of(const FormatReport& report) {
  const auto found = std::ranges::find(report.formats, "ours", &MeasuredFormat::name);
  return found == report.formats.end() || !counts(report, *found) ? nullptr : &*found;
}

std::string ratio(double seconds, double ours) { return ours > 0 ? fmt::format("{:.2f}", seconds / ours) : "-"; }

const char* product_name(TensorProduct product) {
  return product == TensorProduct::ttm ? "ttm" : product == TensorProduct::ttmc ? "ttmc" : "mttkrp";
}

const char* precision_name(Precision precision) { return precision == Precision::f32 ? "f32" : "f64"; }

void print_modes(const FormatReport& report, const MeasuredFormat* ours) {
  fmt::print("\n{:<15} {:>4} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "format", "mode", "min ms",
             "median ms", "M nnz/s", "GFLOP/s", "Mflop", "MB", "flop/byte", "to ours");
  for (const MeasuredFormat& format : report.formats) {
    if (!counts(report, format)) continue;
    for (std::size_t i = 0; i < format.passes.size(); ++i) {
      const FormatPass& pass = format.passes[i];
      fmt::print("{:<15} {:>4} {:>10.3f} {:>10.3f} {:>10.1f} {:>9.2f} {:>9.1f} {:>9.1f} {:>9.4f} {:>8}\n", format.name,
                 pass.mode, pass.min_seconds * 1e3, pass.seconds * 1e3,
                 static_cast<double>(report.nnz) / pass.min_seconds / 1e6, gflops(pass), pass.flops / 1e6,
                 pass.bytes / 1e6, intensity(pass), ratio(pass.min_seconds, ours ? ours->passes[i].min_seconds : 0));
    }
  }
}

void print_sums(const FormatReport& report, const MeasuredFormat* ours) {
  std::vector<const MeasuredFormat*> sorted;
  for (const MeasuredFormat& format : report.formats) {
    if (counts(report, format)) sorted.push_back(&format);
  }
  std::ranges::stable_sort(sorted, {}, [](const MeasuredFormat* format) { return format->sweep_seconds(); });
  fmt::print("\n{:<15} {:>12} {:>9} {:>8} {:>9} {:>9} {:>9} {:>7} {:>8} {:>9}  {}\n", "format", "all modes ms",
             "GFLOP/s", "to ours", "index MB", "value MB", "other MB", "copies", "build s", "in sweeps", "settings");
  for (const MeasuredFormat* format : sorted) {
    fmt::print("{:<15} {:>12.3f} {:>9.2f} {:>8} {:>9.1f} {:>9.1f} {:>9.1f} {:>7} {:>8.3f} {:>9.1f}{}\n", format->name,
               format->sweep_seconds() * 1e3, mean_gflops(*format),
               ratio(format->sweep_seconds(), ours ? ours->sweep_seconds() : 0),
               static_cast<double>(format->index_bytes) / 1e6, static_cast<double>(format->value_bytes) / 1e6,
               static_cast<double>(format->auxiliary_bytes) / 1e6, format->copies, format->build_seconds,
               format->build_sweeps(), format->settings.empty() ? "" : "  " + format->settings);
  }
  for (const MeasuredFormat& format : report.formats) {
    if (!format.refusal.empty()) fmt::print("{:<15} not measured: {}\n", format.name, format.refusal);
    if (format.refusal.empty() && !counts(report, format)) {
      fmt::print("{:<15} WRONG: its output is off by {:.2g} of the sum of absolute products; its times do not count\n",
                 format.name, format.largest_error());
    }
  }
}

cli::Json pass_json(const FormatPass& pass) {
  return {{"mode", pass.mode},
          {"seconds", pass.seconds},
          {"min_seconds", pass.min_seconds},
          {"nominal_gflops", gflops(pass)},
          {"flops", pass.flops},
          {"bytes", pass.bytes},
          {"intensity", intensity(pass)},
          {"error", pass.error}};
}

cli::Json format_json(const FormatReport& report, const MeasuredFormat& format) {
  if (!format.refusal.empty()) return {{"format", format.name}, {"refusal", format.refusal}};
  cli::Json passes = cli::Json::array();
  for (const FormatPass& pass : format.passes) passes.push_back(pass_json(pass));
  return {{"format", format.name},
          {"settings", format.settings},
          {"sweep_seconds", format.sweep_seconds()},
          {"nominal_gflops", mean_gflops(format)},
          {"index_bytes", format.index_bytes},
          {"value_bytes", format.value_bytes},
          {"auxiliary_bytes", format.auxiliary_bytes},
          {"copies", format.copies},
          {"build_seconds", format.build_seconds},
          {"build_sweeps", format.build_sweeps()},
          {"right", report.is_right(format)},
          {"passes", passes}};
}

}  // namespace

void print_formats(const FormatReport& report) {
  fmt::print("tensor  {}, {} nonzeros; {}, rank {}, {}\n", cli::format_shape(report.shape),
             cli::format_count(report.nnz), product_name(report.product), report.rank,
             precision_name(report.precision));
  fmt::print("device  {}, {} thread{}\n", report.device, report.threads, report.threads == 1 ? "" : "s");
  const MeasuredFormat* ours = ours_of(report);
  print_modes(report, ours);
  print_sums(report, ours);
}

cli::Json formats_json(const FormatReport& report) {
  cli::Json formats = cli::Json::array();
  for (const MeasuredFormat& format : report.formats) formats.push_back(format_json(report, format));
  return {{"product", product_name(report.product)},
          {"device", report.device},
          {"threads", report.threads},
          {"rank", report.rank},
          {"precision", precision_name(report.precision)},
          {"shape", report.shape},
          {"nonzeros", report.nnz},
          {"tolerance", report.tolerance},
          {"formats", formats}};
}

}  // namespace blco::bench
