// Passes of MTTKRP are measured for a tensor in memory as for one in a file.
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>

#include "tests/bench/measure/benchmark.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"

namespace blco {
namespace {

TEST(Benchmark, MeasuresEveryModeOfATensorInMemory) {
  const CoordinateTensor coordinates = random_coordinates({.shape = {50, 60, 70}, .nnz = 5000, .seed = 8});
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());

  const BenchmarkReport report = benchmark_mttkrp(tensor, {.repeats = 1}, {.rank = 2, .compute = {.devices = {"cpu"}}});

  EXPECT_EQ(report.passes.size(), 3);
}

TEST(DecodeBenchmark, MeasuresEveryStoredColumn) {
  const CoordinateTensor coordinates = random_coordinates({.shape = {50, 60, 70}, .nnz = 5000, .seed = 8});
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());

  const DecodeReport report = benchmark_decode(tensor, 2);

  EXPECT_EQ(report.nnz, tensor.summary().nnz);
  ASSERT_EQ(report.columns.size(), 2);
  EXPECT_EQ(report.columns[0].column, "index");
  EXPECT_EQ(report.columns[1].column, "value");
  for (const DecodeMeasurement& column : report.columns) {
    EXPECT_GT(column.payload_bytes, 0) << column.column;
    EXPECT_GT(column.seconds, 0) << column.column;
  }
}

}  // namespace
}  // namespace blco
