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

// Frees the batch column by column.
EncodedChunk encode_chunk(SortedBatch batch, const TensorLayout& layout, int zstd_level) {
  EncodedChunk chunk;
  find_bounds(batch, layout, chunk.stored);
  CompensatedSum squares;
  for (const double value : batch.values) squares.add(value * value);
  chunk.sum_of_squares = squares.total();
  const auto store = [&](Column column, const std::vector<std::byte>& payload) {
    chunk.stored.columns[static_cast<std::size_t>(column)] = store_payload(payload, zstd_level);
  };
  const auto pack = [](auto&& encode, auto& column) { return encode(std::exchange(column, {})); };
  store(Column::index, pack(encode_line_column, batch.low));
  if (layout.has_key()) store(Column::key, pack(encode_line_column, batch.key));
  store(Column::value, pack(encode_values, batch.values));
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

IngestReport encode_chunks(EncodeInput& input, const EncodePlan& plan, int zstd_level, const ChunkSink& sink,
                           Executor& executor, ProgressMeter& meter) {
  Totals totals(sink);
  std::vector<SortedBatch> pulled;
  std::vector<EncodedChunk> encoded;
  std::uint64_t nnz = 0;
  std::uint64_t bytes_before = 0;

  const auto pull = [&] {
    std::vector<SortedBatch> wave;
    SortedBatch batch;
    while (wave.size() < plan.chunks_at_once && input.source.next(batch, input.info.chunk_nnz)) {
      wave.push_back(std::exchange(batch, {}));
    }
    return wave;
  };

  pulled = pull();
  while (!pulled.empty() || !encoded.empty()) {
    std::vector<SortedBatch> following;
    std::vector<EncodedChunk> current(pulled.size());
    std::uint64_t wave_nnz = 0;
    for (const SortedBatch& batch : pulled) wave_nnz += batch.count();
    nnz += wave_nnz;
    const auto hand_on_and_pull = [&](std::vector<EncodedChunk>& finished) {
      totals.append(finished);
      finished.clear();
      following = pull();
    };
    const std::size_t beside = plan.overlaps ? 1 : 0;
    executor.run(pulled.size() + beside, [&](std::size_t task) {
      if (task < beside) {
        hand_on_and_pull(encoded);
      } else {
        current[task - beside] = encode_chunk(std::move(pulled[task - beside]), input.layout, zstd_level);
      }
    });
    pulled.clear();
    if (!plan.overlaps) hand_on_and_pull(current);
    pulled = std::move(following);
    encoded = std::move(current);
    meter.advance(wave_nnz, totals.stored_bytes() - bytes_before);
    bytes_before = totals.stored_bytes();
  }
  return totals.finish(nnz, input.info);
}

}  // namespace

IngestReport encode_container(EncodeInput input, const EncodePlan& plan, int zstd_level, TemporaryFile output,
                              Executor& executor, ProgressMeter& meter) {
  ContainerWriter writer(std::move(output), input.info);
  meter.begin({.name = "write", .nonzeros = input.most_nnz});
  IngestReport report = encode_chunks(
      input, plan, zstd_level, [&](StoredChunk&& chunk) { writer.append(chunk); }, executor, meter);
  meter.end();
  report.file_bytes = writer.finish(input.info);
  return report;
}

std::unique_ptr<ChunkSource> encode_in_memory(EncodeInput input, const EncodePlan& plan, Executor& executor,
                                              ProgressMeter& meter) {
  auto chunks = std::make_unique<PackedChunks>();
  meter.begin({.name = "pack", .nonzeros = input.most_nnz});
  constexpr int no_compression = 0;
  encode_chunks(
      input, plan, no_compression, [&](StoredChunk&& chunk) { chunks->append(std::move(chunk)); }, executor, meter);
  meter.end();
  chunks->finish(std::move(input.info));
  return chunks;
}

std::uint64_t encode_bytes(const EncodeSizes& sizes, const EncodePlan& plan) {
  const std::uint64_t columns = sizes.has_key ? 3 : 2;
  const std::uint64_t payload = max_payload_bytes(sizes.chunk_nnz);
  const std::uint64_t batch = columns * sizes.chunk_nnz * 8;
  // What of a chunk is stored takes the place of its batch's columns. Beside them a payload while it grows and the
  // integers that it is made of, or a payload that is being compressed.
  const std::uint64_t encoding =
      batch + payload + std::max(2 * payload, store_payload_bytes(payload, sizes.zstd_level));
  const std::uint64_t at_work = std::min(plan.chunks_at_once, static_cast<std::uint64_t>(sizes.threads));
  const std::uint64_t beside = plan.overlaps ? batch + columns * payload : 0;
  return at_work * encoding + (plan.chunks_at_once - at_work) * batch + plan.chunks_at_once * beside;
}

std::optional<EncodePlan> plan_encode(const EncodeSizes& sizes, std::uint64_t memory_bytes) {
  for (std::uint64_t chunks = std::min(sizes.chunk_count, static_cast<std::uint64_t>(sizes.threads)); chunks > 0;
       --chunks) {
    for (const bool overlaps : {true, false}) {
      const EncodePlan plan{chunks, overlaps};
      if (encode_bytes(sizes, plan) <= memory_bytes) return plan;
    }
  }
  return std::nullopt;
}

std::uint64_t packed_bytes_bound(const EncodeSizes& sizes) {
  const std::uint64_t columns = sizes.has_key ? 3 : 2;
  return sizes.chunk_count * columns * max_payload_bytes(sizes.chunk_nnz);
}

}  // namespace blco
