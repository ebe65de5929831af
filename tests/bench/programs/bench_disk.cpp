// Measured reads of a container, as a table or as JSON.
#include <fmt/format.h>

#include "tests/bench/programs/bench_report.hpp"

namespace blco::bench {
namespace {

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

}  // namespace

void print_disk(const DiskReport& report) {
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

}  // namespace blco::bench
