// Prints what blco-bench measured, as tables or as one JSON object. README.md beside this folder documents the keys.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/bench/machine/roofline.hpp"
#include "tests/bench/measure/benchmark.hpp"
#include "tests/bench/measure/format_benchmark.hpp"
#include "tools/programs/reporter.hpp"

namespace blco::bench {

struct Run {
  std::string place;                // "memory", "streamed"
  std::string conflict_resolution;  // "-" on the CPU
  BenchmarkReport report;
};

// Shares are relative to the measured speeds. Require at least one run.
void print_passes(std::span<const Run> runs);
void print_passes_json(std::span<const Run> runs);

void print_disk(const DiskReport& report);
void print_disk_json(const DiskReport& report);

void print_decode(const DecodeReport& report);
void print_decode_json(const DecodeReport& report);

// Passes of the formats whose outputs are right, then these in order of the time of all modes, then the others.
void print_formats(const FormatReport& report);
cli::Json formats_json(const FormatReport& report);

// Levels, peaks, and a row per point: what binds it, and the slowest level that could deliver its bytes.
void print_roofline(const Roofline& roofline, std::span<const RooflinePoint> points);
cli::Json roofline_json(const Roofline& roofline, std::span<const RooflinePoint> points);
std::vector<RooflinePoint> roofline_points(const FormatReport& report);

}  // namespace blco::bench
