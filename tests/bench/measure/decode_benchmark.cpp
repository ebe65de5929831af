// Decodes the columns of each chunk, frame by frame, while the chunk lies in memory.
#include <array>
#include <vector>

#include "blco/error.hpp"
#include "blco/executor.hpp"
#include "blco/option_name.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "tests/bench/measure/benchmark.hpp"
#include "tests/bench/measure/stopwatch.hpp"

namespace blco {
namespace {

struct ColumnTimes {
  const char* name;
  Column column;
  std::uint64_t payload_bytes = 0;
  std::vector<double> seconds = {};  // per repeat, of all chunks
};

double seconds_to_decode(const PayloadView& payload, Column column, std::uint64_t nnz) {
  const std::uint64_t frames = (nnz + frame_entries - 1) / frame_entries;
  alignas(64) std::array<std::uint64_t, frame_entries> words;
  alignas(64) std::array<double, frame_entries> values;
  return seconds_of([&] {
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      if (column == Column::value) {
        decode_value_frame(payload, frame, values.data());
      } else {
        decode_line_frame(payload, frame, words.data());
      }
    }
  });
}

}  // namespace

DecodeReport benchmark_decode(const Tensor& tensor, int repeats) {
  if (repeats < 1) throw Error(ErrorKind::invalid_argument, option_name("repeats") + " must be at least 1");
  const ChunkSource& source = TensorChunks::of(tensor);
  std::vector<ColumnTimes> columns{
      {"index", Column::index}, {"high_word", Column::high_word}, {"value", Column::value}};
  for (ColumnTimes& times : columns) times.seconds.assign(static_cast<std::size_t>(repeats), 0);
  DecodeReport report;
  report.level = vector_level();
  SerialExecutor executor;
  ChunkWindow window(source, 1, executor);
  for (auto chunks = window.next(); !chunks.empty(); chunks = window.next()) {
    const ChunkView& chunk = chunks[0];
    report.nnz += chunk.nnz;
    for (ColumnTimes& times : columns) {
      const auto bytes = chunk[times.column];
      if (bytes.empty()) continue;
      const PayloadView payload =
          times.column == Column::value ? view_values(bytes, chunk.value_exponent) : view_payload(bytes);
      times.payload_bytes += bytes.size();
      seconds_to_decode(payload, times.column, chunk.nnz);  // for what only a first pass pays
      for (double& seconds : times.seconds) seconds += seconds_to_decode(payload, times.column, chunk.nnz);
    }
  }

  for (const ColumnTimes& times : columns) {
    if (times.payload_bytes > 0) report.columns.push_back({times.name, times.payload_bytes, median(times.seconds)});
  }
  return report;
}

}  // namespace blco
