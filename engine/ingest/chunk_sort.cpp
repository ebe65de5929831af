#include "engine/ingest/chunk_sort.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <type_traits>

#include "engine/ingest/sort/run_entry.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

using LowEntry = hwy::K64V64;

void set_entry(LowEntry& entry, const LineIndex& line, double value) {
  entry = {std::bit_cast<std::uint64_t>(value), line.low};
}
void set_entry(WideEntry& entry, const LineIndex& line, double value) { entry = {line.low, line.key, value}; }
void set_entry(std::uint64_t& entry, const LineIndex& line, double) { entry = line.low; }

template <class Entry>
void sort_entries(std::span<Entry> entries) {
  hwy::Sorter()(entries.data(), entries.size(), hwy::SortAscending());
}
void sort_entries(std::span<WideEntry> entries) {
  std::ranges::sort(entries, [](const WideEntry& a, const WideEntry& b) { return is_before(a, b); });
}

void take_apart(const LowEntry& entry, std::size_t i, SortedBatch& to) {
  to.low[i] = entry.key;
  to.values[i] = std::bit_cast<double>(entry.value);
}
void take_apart(const WideEntry& entry, std::size_t i, SortedBatch& to) {
  to.low[i] = entry.low;
  to.key[i] = entry.high;
  to.values[i] = entry.value;
}
void take_apart(std::uint64_t entry, std::size_t i, SortedBatch& to) { to.low[i] = entry; }

template <class Entry>
void sort_chunk(const NonzeroDecoder& decoder, const ChunkView& chunk, const TensorLayout& layout,
                SortedBatch& sorted) {
  AlignedBuffer<Entry> entries(chunk.nnz);
  const std::size_t order = layout.shape().size();
  NonzeroFrame frame;
  std::array<std::uint64_t, max_order> point;
  for (std::size_t first = 0; first < chunk.nnz; first += frame_entries) {
    decoder.decode(chunk, first / frame_entries, frame);
    for (std::size_t i = 0; i < frame.count; ++i) {
      for (std::size_t n = 0; n < order; ++n) point[n] = frame.coordinates[n][i];
      set_entry(entries.data()[first + i], layout.linearize({point.data(), order}), frame.values[i]);
    }
  }
  sort_entries(entries.span());
  sorted.low.resize(chunk.nnz);
  sorted.key.resize(layout.has_high_word() ? chunk.nnz : 0);
  sorted.values.resize(std::is_same_v<Entry, std::uint64_t> ? 0 : chunk.nnz);
  for (std::size_t i = 0; i < chunk.nnz; ++i) take_apart(entries.data()[i], i, sorted);
}

}  // namespace

void ChunkSort::run(const ChunkView& chunk, const TensorLayout& layout, SortedBatch& sorted) const {
  if (layout.has_high_word()) return sort_chunk<WideEntry>(decoder_, chunk, layout, sorted);
  sort_chunk<LowEntry>(decoder_, chunk, layout, sorted);
}

void ChunkSort::run_lines(const ChunkView& chunk, const TensorLayout& layout, SortedBatch& sorted) const {
  if (layout.has_high_word()) return run(chunk, layout, sorted);
  sort_chunk<std::uint64_t>(decoder_, chunk, layout, sorted);
}

std::uint64_t ChunkSort::result_bytes(bool has_high_word, std::uint64_t nnz) {
  return nnz * (has_high_word ? 3 : 2) * sizeof(std::uint64_t);
}

std::uint64_t ChunkSort::working_bytes(bool has_high_word, std::uint64_t nnz) {
  return mapped_bytes(nnz * (has_high_word ? sizeof(WideEntry) : sizeof(LowEntry)));
}

}  // namespace blco
