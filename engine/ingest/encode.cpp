// One wave of chunks is encoded while the last one is handed on. What pulls the next may use all threads itself.
#include "engine/ingest/encode.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blco/bits.hpp"
#include "blco/coalesce_values.hpp"
#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "blco/refuse.hpp"
#include "io/container/container_writer.hpp"
#include "kernels/bit_range.hpp"

namespace blco {
namespace {

// Below, squares lose digits to the least exponent of a double, and fits with them.
constexpr double min_sum_of_squares = 1e-280;

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
  bool is_zero = false;  // all its values are, as far as the host has seen them
};

bool are_zero(std::span<const double> values) {
  return !values.empty() && std::ranges::all_of(values, [](double value) { return value == 0; });
}

// The bounds of lines that have one key.
void widen_bounds(std::span<const std::uint64_t> lines, std::uint64_t key, const TensorLayout& layout,
                  StoredChunk& chunk) {
  for (int n = 0; n < layout.order(); ++n) {
    const ModeLayout& mode = layout.mode(n);
    const BitRange low = range_of_bits(lines, mode.low_mask);
    const std::uint64_t high = mode.high_mask == 0 ? 0 : pext(key, mode.high_mask) << mode.low_bits;
    const auto at = static_cast<std::size_t>(n);
    chunk.lower[at] = std::min(chunk.lower[at], high | pext(low.lower, mode.low_mask));
    chunk.upper[at] = std::max(chunk.upper[at], high | pext(low.upper, mode.low_mask));
  }
}

void find_bounds(const SortedBatch& batch, const TensorLayout& layout, StoredChunk& chunk) {
  constexpr std::size_t max_lines = 4096;  // which stay in a cache while the modes are gone through
  chunk.lower.assign(layout.shape().begin(), layout.shape().end());
  chunk.upper.assign(static_cast<std::size_t>(layout.order()), 0);
  for (std::size_t first = 0, last; first < batch.count(); first = last) {
    last = std::min(batch.count(), first + max_lines);
    const std::uint64_t key = layout.has_high_word() ? batch.key[first] : 0;
    if (layout.has_high_word()) {
      last = static_cast<std::size_t>(std::find_if_not(&batch.key[first], batch.key.data() + last,
                                                       [&](std::uint64_t other) { return other == key; }) -
                                      batch.key.data());
    }
    widen_bounds(std::span<const std::uint64_t>(batch.low).subspan(first, last - first), key, layout, chunk);
  }
}

// Sums of integers below 2^53 are exact, in any order and without compensation.
std::optional<double> exact_sum_of_squares(std::span<const double> values) {
  constexpr double shift = 0x1.8p52;  // rounds what is far below it to integers
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::array<double, lanes> fractions{};
  const auto add = [&](double value, std::size_t lane) {
    sums[lane] += value * value;
    fractions[lane] += std::abs(value - ((value + shift) - shift));
  };
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) add(values[i + j], j);
  }
  for (; i < values.size(); ++i) add(values[i], 0);
  double sum = 0;
  double fraction = 0;
  for (std::size_t j = 0; j < lanes; ++j) {
    sum += sums[j];
    fraction += fractions[j];
  }
  if (fraction == 0 && sum < exact_integer_limit) return sum;
  return std::nullopt;
}

double sum_of_squares(std::span<const double> values) {
  if (const std::optional<double> exact = exact_sum_of_squares(values)) return *exact;
  CompensatedSum squares;
  for (const double value : values) squares.add(value * value);
  return squares.total();
}

// A chunk's entries, and memory for its payloads, which may serve many chunks: new pages cost more than to encode.
struct EncodeBuffers {
  SortedPart part;
  std::vector<std::byte> payload;
};

// Gives memory back as soon as it can, unless `keeps`.
EncodedChunk encode_chunk(EncodeBuffers& buffers, const TensorLayout& layout, const Compression& compression,
                          bool keeps) {
  SortedBatch& batch = buffers.part.entries;
  EncodedChunk chunk;
  find_bounds(batch, layout, chunk.stored);
  chunk.sum_of_squares = sum_of_squares(batch.values);
  chunk.is_zero = are_zero(batch.values);
  const auto store = [&](Column column, auto&& encode, auto& entries) {
    std::vector<std::byte> payload = encode(entries, std::exchange(buffers.payload, {}));
    if (!keeps) free_memory(entries);
    chunk.stored.columns[static_cast<std::size_t>(column)] =
        store_payload(payload, compression.zstd_level, compression.saving_percent);
    if (keeps) buffers.payload = std::move(payload);
  };
  store(Column::index, encode_line_column, batch.low);
  if (layout.has_high_word()) store(Column::high_word, encode_line_column, batch.key);
  store(Column::value, encode_values, batch.values);
  return chunk;
}

// The same of a chunk that a device has packed, but for values that come as they are.
EncodedChunk encode_packed(DevicePackedChunk&& packed, const Compression& compression) {
  EncodedChunk chunk;
  chunk.stored.lower = std::move(packed.lower);
  chunk.stored.upper = std::move(packed.upper);
  chunk.sum_of_squares = packed.values.empty() ? packed.sum_of_squares : sum_of_squares(packed.values);
  chunk.is_zero = are_zero(packed.values);
  if (!packed.values.empty()) packed[Column::value] = encode_values(packed.values);
  free_memory(packed.values);
  for (std::size_t c = 0; c < column_count; ++c) {
    chunk.stored.columns[c] = store_payload(packed.payload[c], compression.zstd_level, compression.saving_percent);
    free_memory(packed.payload[c]);
  }
  return chunk;
}

// Hands chunks on in order and keeps the totals.
class Totals {
 public:
  explicit Totals(const ChunkSink& sink) : sink_(&sink) {}

  void append(std::vector<EncodedChunk>& chunks) {
    for (EncodedChunk& chunk : chunks) {
      squares_.add(chunk.sum_of_squares);
      is_zero_ = is_zero_ && chunk.is_zero;
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
    if (nnz == 0) throw Error(ErrorKind::invalid_argument, "the input has no nonzeros; a tensor requires at least one");
    if (is_zero_ && info.reading.duplicates) {
      refuse("all values are zero, once entries of equal coordinates are one by " +
             option_name("duplicates", to_string(*info.reading.duplicates)));
    }
    if (is_zero_) refuse("all values are zero; a tensor requires one that is not");
    if (info.sum_of_squares < min_sum_of_squares) {
      throw Error(ErrorKind::invalid_argument,
                  "all values are zero, or so small that their squares are zero; scale small values up");
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
  bool is_zero_ = true;
  IngestReport report_;
};

// Returns the modes that are reordered.
template <class Sink>
std::vector<std::uint64_t> store_reordering(const EncodeInput& input, const Sink& sink) {
  std::vector<std::uint64_t> modes;
  if (input.reordering == nullptr) return modes;
  for (std::size_t mode = 0; mode < input.info.shape.size(); ++mode) {
    std::vector<std::uint32_t> originals = input.reordering->take_originals(mode);
    if (originals.empty()) continue;
    sink(mode, std::move(originals));
    modes.push_back(mode);
  }
  return modes;
}

}  // namespace

IngestReport encode_chunks(EncodeInput& input, const EncodePlan& plan, const Compression& compression,
                           const ChunkSink& sink, Executor& executor, ProgressMeter& meter) {
  Totals totals(sink);
  std::vector<EncodedChunk> encoded;
  std::uint64_t nnz = 0;
  std::uint64_t bytes_before = 0;

  std::vector<EncodeBuffers> buffers(plan.chunks_at_once);
  const auto pull = [&] {
    std::size_t pulled = 0;
    while (pulled < buffers.size() && input.source.next(buffers[pulled].part, input.info.chunk_nnz)) ++pulled;
    return pulled;
  };

  for (std::size_t pulled = pull(); pulled > 0 || !encoded.empty(); pulled = pull()) {
    std::vector<EncodedChunk> current(pulled);
    std::uint64_t wave_nnz = 0;
    for (std::size_t i = 0; i < pulled; ++i) wave_nnz += buffers[i].part.count;
    nnz += wave_nnz;
    const std::size_t beside = plan.overlaps ? 1 : 0;
    executor.run(pulled + beside, [&](std::size_t task) {
      if (task < beside) {
        totals.append(encoded);
        encoded.clear();
      } else {
        EncodeBuffers& own = buffers[task - beside];
        EncodedChunk& chunk = current[task - beside];
        if (std::optional<DevicePackedChunk> packed = input.source.pack(own.part)) {
          chunk = encode_packed(std::move(*packed), compression);
        } else {
          input.source.fetch(own.part);
          chunk = encode_chunk(own, input.layout, compression, plan.overlaps);
        }
      }
    });
    if (plan.overlaps) {
      encoded = std::move(current);
    } else {
      totals.append(current);
    }
    meter.advance(wave_nnz, totals.stored_bytes() - bytes_before);
    bytes_before = totals.stored_bytes();
  }
  if (input.duplicates && nnz + input.source.left_out() < input.max_nnz) {
    input.info.reading.duplicates = input.duplicates;
  }
  return totals.finish(nnz, input.info);
}

void check_compression(const Compression& compression) {
  if (compression.zstd_level < 0 || compression.zstd_level > 19) {
    refuse(option_name("zstd_level") + " must be from 1 to 19, or 0 for none");
  }
  if (compression.saving_percent < 0 || compression.saving_percent > 100) {
    refuse(option_name("zstd_saving_percent") + " must be from 0 to 100");
  }
}

IngestReport encode_container(EncodeInput input, const EncodePlan& plan, const Compression& compression,
                              TemporaryFile output, Executor& executor, ProgressMeter& meter,
                              const BeforeEnd& before_end) {
  ContainerWriter writer(std::move(output), input.info);
  meter.begin({.name = "write", .nonzeros = input.max_nnz});
  IngestReport report = encode_chunks(
      input, plan, compression, [&](StoredChunk&& chunk) { writer.append(chunk); }, executor, meter);
  meter.end();
  report.reordered_modes = store_reordering(
      input, [&](std::size_t mode, std::vector<std::uint32_t>&& originals) { writer.reorder(mode, originals); });
  if (before_end) before_end(writer, input.info, report);
  const auto start = std::chrono::steady_clock::now();
  report.file_bytes = writer.finish(input.info, input.labels);
  report.stages = meter.stage_times();
  report.stages.push_back({"sync", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
  return report;
}

std::unique_ptr<PackedChunks> encode_in_memory(EncodeInput input, const EncodePlan& plan, Executor& executor,
                                               ProgressMeter& meter) {
  std::vector<StoredChunk> chunks;
  meter.begin({.name = "pack", .nonzeros = input.max_nnz});
  constexpr Compression no_compression;
  encode_chunks(
      input, plan, no_compression, [&](StoredChunk&& chunk) { chunks.push_back(std::move(chunk)); }, executor, meter);
  meter.end();
  std::vector<std::vector<std::uint32_t>> reorderings(input.info.shape.size());
  store_reordering(input, [&](std::size_t mode, std::vector<std::uint32_t>&& originals) {
    reorderings[mode] = std::move(originals);
  });
  return std::make_unique<PackedChunks>(std::move(input.info), std::move(chunks), std::move(reorderings),
                                        std::move(input.labels));
}

}  // namespace blco
