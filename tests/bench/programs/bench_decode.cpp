// Measured decoding of a container's columns, as a table or as JSON.
#include <fmt/format.h>

#include "tests/bench/programs/bench_report.hpp"

namespace blco::bench {
namespace {

const char* name_of(VectorLevel level) {
  return level == VectorLevel::avx512 ? "avx512" : level == VectorLevel::avx2 ? "avx2" : "portable";
}

}  // namespace

void print_decode(const DecodeReport& report) {
  const auto nnz = static_cast<double>(report.nnz);
  fmt::print("one thread, vectors: {}\n\n{:<10} {:>10} {:>10}\n", name_of(report.level), "column", "bytes/nnz",
             "ns/nnz");
  for (const DecodeMeasurement& column : report.columns) {
    fmt::print("{:<10} {:>10.2f} {:>10.3f}\n", column.column, static_cast<double>(column.payload_bytes) / nnz,
               column.seconds * 1e9 / nnz);
  }
}

void print_decode_json(const DecodeReport& report) {
  cli::Json json{{"vectors", name_of(report.level)}, {"nonzeros", report.nnz}, {"columns", cli::Json::array()}};
  for (const DecodeMeasurement& column : report.columns) {
    json["columns"].push_back(
        {{"column", column.column}, {"payload_bytes", column.payload_bytes}, {"seconds", column.seconds}});
  }
  fmt::print("{}\n", json.dump());
}

}  // namespace blco::bench
