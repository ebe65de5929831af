// One wave of chunks is encoded while the next is pulled and the last one handed on.
#include "engine/encode.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "engine/packed_chunks.hpp"
#include "io/container_writer.hpp"

namespace blco {
namespace {

// Below, squares lose digits to the least exponent of a double, and fits with them.
constexpr double least_sum_of_squares = 1e-280;

// Neumaier's compensated sum: a tensor of billions of nonzeros keeps its norm to the last digits.
class CompensatedSum {
 public:
  void add(double term) {
    const double sum = sum_ + term;
    carry_ += std::abs(sum_) >= std::abs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
  }
  double total() const { return sum_ + carry_; }

 private:
  double sum_ = 0;
  double carry_ = 0;
};

struct EncodedChunk {
  StoredChunk stored;
  double sum_of_squares = 0;
};

void find_bounds(const SortedBatch& batch, const TensorLayout& layout, StoredChunk& chunk) {
  const auto order = static_cast<std::size_t>(layout.order());
  chunk.lower.assign(layout.shape().begin(), layout.shape().end());
  chunk.upper.assign(order, 0);
  std::array<std::uint64_t, max_order> coordinates{};
  const std::span<std::uint64_t> point(coordinates.data(), order);
  for (std::size_t i = 0; i < batch.count(); ++i) {
    layout.delinearize({layout.has_key() ? batch.key[i] : 0, batch.low[i]}, point);
    for (std::size_t n = 0; n < order; ++n) {
      chunk.lower[n] = std::min(chunk.lower[n], point[n]);
      chunk.upper[n] = std::max(chunk.upper[n], point[n]);
    }
  }
}

EncodedChunk encode_chunk(const SortedBatch& batch, const TensorLayout& layout, int zstd_level) {
  EncodedChunk chunk;
  const auto store = [&](Column column, std::span<const std::byte> payload) {
    chunk.stored.columns[static_cast<std::size_t>(column)] = store_payload(payload, zstd_level);
  };
  store(Column::index, encode_line_column(batch.low));
  if (layout.has_key()) store(Column::key, encode_line_column(batch.key));
  store(Column::value, encode_values(batch.values));
  find_bounds(batch, layout, chunk.stored);
  CompensatedSum squares;
  for (const double value : batch.values) squares.add(value * value);
  chunk.sum_of_squares = squares.total();
  return chunk;
}

// Takes chunks in order, one call at a time, on any thread.
using ChunkSink = std::function<void(StoredChunk&&)>;

// Hands chunks on in order and keeps the totals.
class Totals {
 public:
  explicit Totals(const ChunkSink& sink) : sink_(&sink) {}

  void append(std::vector<EncodedChunk>& chunks) {
    for (EncodedChunk& chunk : chunks) {
      squares_.add(chunk.sum_of_squares);
      ++report_.chunk_count;
      for (std::size_t c = 0; c < column_count; ++c) {
        const StoredPayload& column = chunk.stored.columns[c];
        ColumnBytes& bytes = static_cast<Column>(c) == Column::value ? report_.value : report_.index;
        bytes.stored += column.bytes.size();
        bytes.streamed += column.payload_bytes;
      }
      (*sink_)(std::move(chunk.stored));
    }
  }

  std::uint64_t stored_bytes() const { return report_.index.stored + report_.value.stored; }

  // Fills in what `info` lacks.
  IngestReport finish(std::uint64_t nnz, ContainerInfo& info) {
    info.nnz = nnz;
    info.sum_of_squares = squares_.total();
    if (nnz == 0) throw Error(ErrorKind::invalid_argument, "the input holds no nonzeros; a tensor needs at least one");
    if (info.sum_of_squares < least_sum_of_squares) {
      throw Error(ErrorKind::invalid_argument,
                  "all values are zero, or so small that their squares are; there is nothing to decompose, unless the "
                  "values are scaled up");
    }
    if (!std::isfinite(info.sum_of_squares)) {
      throw Error(ErrorKind::invalid_argument,
                  "the sum of the squared values is more than a double can hold; scale the values down");
    }
    report_.nnz = nnz;
    report_.shape = info.shape;
    return report_;
  }

 private:
  const ChunkSink* sink_;
  CompensatedSum squares_;
  IngestReport report_;
};

IngestReport encode_chunks(EncodeInput& input, int zstd_level, const ChunkSink& sink, Executor& executor,
                           ProgressMeter& meter) {
  Totals totals(sink);
  const auto wave_chunks = static_cast<std::size_t>(executor.width());
  std::vector<SortedBatch> pulled;
  std::vector<EncodedChunk> encoded;
  std::uint64_t nnz = 0;
  std::uint64_t bytes_before = 0;

  const auto pull = [&] {
    std::vector<SortedBatch> wave;
    SortedBatch batch;
    while (wave.size() < wave_chunks && input.source.next(batch, input.info.chunk_nnz)) {
      wave.push_back(std::exchange(batch, {}));
    }
    return wave;
  };

  pulled = pull();
  while (!pulled.empty() || !encoded.empty()) {
    std::vector<SortedBatch> following;
    std::vector<EncodedChunk> current(pulled.size());
    executor.run(pulled.size() + 1, [&](std::size_t task) {
      if (task == 0) {
        totals.append(encoded);
        encoded.clear();
        following = pull();
      } else {
        current[task - 1] = encode_chunk(pulled[task - 1], input.layout, zstd_level);
      }
    });
    std::uint64_t wave_nnz = 0;
    for (const SortedBatch& batch : pulled) wave_nnz += batch.count();
    nnz += wave_nnz;
    pulled = std::move(following);
    encoded = std::move(current);
    meter.advance(wave_nnz, totals.stored_bytes() - bytes_before);
    bytes_before = totals.stored_bytes();
  }
  return totals.finish(nnz, input.info);
}

}  // namespace

IngestReport encode_container(EncodeInput input, int zstd_level, const std::filesystem::path& output,
                              Executor& executor, ProgressMeter& meter) {
  ContainerWriter writer(output, input.info);
  meter.begin({.name = "write", .nonzeros = input.most_nnz});
  IngestReport report = encode_chunks(
      input, zstd_level, [&](StoredChunk&& chunk) { writer.append(chunk); }, executor, meter);
  meter.end();
  report.file_bytes = writer.finish(input.info);
  return report;
}

std::unique_ptr<ChunkSource> encode_in_memory(EncodeInput input, Executor& executor, ProgressMeter& meter) {
  auto chunks = std::make_unique<PackedChunks>();
  meter.begin({.name = "pack", .nonzeros = input.most_nnz});
  constexpr int no_compression = 0;
  encode_chunks(
      input, no_compression, [&](StoredChunk&& chunk) { chunks->append(std::move(chunk)); }, executor, meter);
  meter.end();
  chunks->finish(std::move(input.info));
  return chunks;
}

std::uint64_t encode_bytes(const TensorLayout& layout, std::uint64_t chunk_nnz, std::uint64_t chunks_at_once) {
  const std::uint64_t columns = layout.has_key() ? 3 : 2;
  // Two waves of columns (grown by doubling, hence twice) and, per thread, payload, stored form and zstd's own memory.
  const std::uint64_t per_chunk = 2 * 2 * columns * chunk_nnz * 8 + 3 * columns * max_payload_bytes(chunk_nnz);
  return per_chunk * chunks_at_once;
}

std::uint64_t packed_bytes_bound(const TensorLayout& layout, std::uint64_t chunk_nnz, std::uint64_t chunks) {
  const std::uint64_t columns = layout.has_key() ? 3 : 2;
  return chunks * columns * max_payload_bytes(chunk_nnz);
}

}  // namespace blco
