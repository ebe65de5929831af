// Prints what blco-bench measured, as tables or as one JSON object. tools/programs/JSON.md documents the keys.
#pragma once

#include <blco/benchmark.hpp>
#include <blco/format_benchmark.hpp>
#include <span>
#include <string>

namespace blco::bench {

struct Run {
  std::string place;       // "memory", "streamed"
  std::string resolution;  // "-" on the CPU
  BenchmarkReport report;
};

// Shares are relative to the measured speeds. Require at least one run.
void print_passes(std::span<const Run> runs);
void print_passes_json(std::span<const Run> runs);

void print_disk(const DiskReport& report);
void print_disk_json(const DiskReport& report);

// Each format's passes, then all formats in order of the time of all modes.
void print_formats(const FormatReport& report);
void print_formats_json(const FormatReport& report);

}  // namespace blco::bench
