// Pieces of batches are packed and unpacked in parallel, a few per thread at a time.
#include "engine/ingest/sort/coordinate_spool.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "io/file/packed_record.hpp"

namespace blco {
namespace {

constexpr std::size_t piece_entries = std::size_t{1} << 14;
constexpr std::size_t pieces_per_thread = 2;
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;

struct Piece {
  const CoordinateBatch* batch;
  std::size_t first;
  std::size_t count;
};

std::vector<std::byte> pack(const Piece& piece) {
  const CoordinateBatch& batch = *piece.batch;
  std::vector<RawVector<std::uint64_t>> columns;
  for (int n = 0; n < batch.order; ++n) {
    RawVector<std::uint64_t>& column = columns.emplace_back(piece.count);
    for (std::size_t i = 0; i < piece.count; ++i) column[i] = batch.coordinate(piece.first + i, n);
  }
  const std::vector<std::span<const std::uint64_t>> spans(columns.begin(), columns.end());
  std::vector<std::byte> record;
  append_record(spans, FrameCoding::plain, std::span(batch.values).subspan(piece.first, piece.count), record);
  return record;
}

template <class Number>
void interleave(const std::vector<RawVector<std::uint64_t>>& columns, std::size_t count, RawVector<Number>& out) {
  out.resize(count * columns.size());
  for (std::size_t n = 0; n < columns.size(); ++n) {
    for (std::size_t i = 0; i < count; ++i) out[i * columns.size() + n] = static_cast<Number>(columns[n][i]);
  }
}

}  // namespace

void CoordinateSpool::add(const std::vector<CoordinateBatch>& batches) {
  std::vector<Piece> pieces;
  for (const CoordinateBatch& batch : batches) {
    for (std::size_t first = 0; first < batch.count(); first += piece_entries) {
      pieces.push_back({&batch, first, std::min(piece_entries, batch.count() - first)});
    }
  }
  const std::size_t wave = pieces_per_thread * static_cast<std::size_t>(executor_->width());
  std::vector<std::vector<std::byte>> records;
  for (std::size_t first = 0; first < pieces.size(); first += wave) {
    records.resize(std::min(wave, pieces.size() - first));
    executor_->run(records.size(), [&](std::size_t i) { records[i] = pack(pieces[first + i]); });
    for (const std::vector<std::byte>& record : records) file_.append(record);
  }
}

bool CoordinateSpool::next(std::vector<CoordinateBatch>& batches) {
  const auto order = static_cast<std::uint64_t>(order_);
  if (!stream_) stream_.emplace(file_, 0, file_.bytes(), max_record_bytes(order, piece_entries));
  std::vector<std::vector<std::byte>> records;
  while (records.size() < pieces_per_thread * static_cast<std::size_t>(executor_->width())) {
    const std::span<const std::byte> record = stream_->next();
    if (record.empty()) break;
    records.emplace_back(record.begin(), record.end());
  }
  batches.clear();
  batches.resize(records.size());
  executor_->run(records.size(), [&](std::size_t i) { batches[i] = unpack(records[i]); });
  return !batches.empty();
}

CoordinateBatch CoordinateSpool::unpack(const std::vector<std::byte>& record) const {
  std::vector<RawVector<std::uint64_t>> columns(static_cast<std::size_t>(order_));
  std::vector<RawVector<std::uint64_t>*> places;
  for (RawVector<std::uint64_t>& column : columns) places.push_back(&column);
  CoordinateBatch batch;
  batch.order = order_;
  read_record(record, FrameCoding::plain, places, batch.values);
  bool narrow = true;
  for (const RawVector<std::uint64_t>& column : columns) {
    batch.upper.push_back(*std::max_element(column.begin(), column.end()));
    narrow = narrow && batch.upper.back() < narrow_limit;
  }
  if (narrow) {
    interleave(columns, batch.count(), batch.narrow);
  } else {
    interleave(columns, batch.count(), batch.wide);
  }
  return batch;
}

std::uint64_t CoordinateSpool::working_bytes(int order, int threads) {
  const auto columns = static_cast<std::uint64_t>(order);
  const std::uint64_t record = max_record_bytes(columns, piece_entries);
  // Per piece its columns, its record, and that while it grows.
  return (columns * piece_entries * 8 + 3 * record) * pieces_per_thread * static_cast<std::uint64_t>(threads);
}

}  // namespace blco
