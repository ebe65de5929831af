// One wave of chunks is encoded while the next is pulled and the last one written.
#include "engine/encode.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "io/container_writer.hpp"

namespace blco {
namespace {

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

// Writes chunks in order and keeps the totals.
class Output {
 public:
  Output(const std::filesystem::path& path, ContainerInfo info) : info_(std::move(info)), writer_(path, info_) {}

  void append(const std::vector<EncodedChunk>& chunks) {
    for (const EncodedChunk& chunk : chunks) {
      writer_.append(chunk.stored);
      squares_.add(chunk.sum_of_squares);
      ++report_.chunk_count;
      for (std::size_t c = 0; c < column_count; ++c) {
        const StoredPayload& column = chunk.stored.columns[c];
        ColumnBytes& bytes = static_cast<Column>(c) == Column::value ? report_.value : report_.index;
        bytes.stored += column.bytes.size();
        bytes.streamed += column.payload_bytes;
      }
    }
  }

  IngestReport finish(std::uint64_t nnz) {
    info_.nnz = nnz;
    info_.sum_of_squares = squares_.total();
    if (nnz == 0) throw Error(ErrorKind::invalid_argument, "the input holds no nonzeros; a tensor needs at least one");
    if (info_.sum_of_squares == 0) {
      throw Error(ErrorKind::invalid_argument,
                  "all values are zero, or so small that their squares are; there is nothing to decompose");
    }
    if (!std::isfinite(info_.sum_of_squares)) {
      throw Error(ErrorKind::invalid_argument,
                  "the sum of the squared values is more than a double can hold; scale the values down");
    }
    report_.file_bytes = writer_.finish(info_);
    report_.nnz = nnz;
    report_.shape = info_.shape;
    return report_;
  }

 private:
  ContainerInfo info_;
  ContainerWriter writer_;
  CompensatedSum squares_;
  IngestReport report_;
};

}  // namespace

IngestReport encode_container(SortedSource& source, const TensorLayout& layout, ContainerInfo info, int zstd_level,
                              const std::filesystem::path& output, Executor& executor) {
  const std::uint64_t chunk_nnz = info.chunk_nnz;
  Output out(output, std::move(info));
  const auto wave_chunks = static_cast<std::size_t>(executor.width());
  std::vector<SortedBatch> pulled;
  std::vector<EncodedChunk> encoded;
  std::uint64_t nnz = 0;

  const auto pull = [&] {
    std::vector<SortedBatch> wave;
    SortedBatch batch;
    while (wave.size() < wave_chunks && source.next(batch, chunk_nnz)) wave.push_back(std::exchange(batch, {}));
    return wave;
  };

  pulled = pull();
  while (!pulled.empty() || !encoded.empty()) {
    std::vector<SortedBatch> following;
    std::vector<EncodedChunk> current(pulled.size());
    executor.run(pulled.size() + 1, [&](std::size_t task) {
      if (task == 0) {
        out.append(encoded);
        encoded.clear();
        following = pull();
      } else {
        current[task - 1] = encode_chunk(pulled[task - 1], layout, zstd_level);
      }
    });
    for (const SortedBatch& batch : pulled) nnz += batch.count();
    pulled = std::move(following);
    encoded = std::move(current);
  }
  return out.finish(nnz);
}

std::uint64_t encode_bytes(const TensorLayout& layout, std::uint64_t chunk_nnz, std::uint64_t chunks_at_once) {
  const std::uint64_t columns = layout.has_key() ? 3 : 2;
  // Two waves of columns (grown by doubling, hence twice) and, per thread, payload, stored form and zstd's own memory.
  const std::uint64_t per_chunk = 2 * 2 * columns * chunk_nnz * 8 + 3 * columns * max_payload_bytes(chunk_nnz);
  return per_chunk * chunks_at_once;
}

}  // namespace blco
