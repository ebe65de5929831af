#include "engine/ingest/chunk_sort.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <type_traits>
#include <vector>

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

}  // namespace

// The chunk is freed before the result takes memory.
template <class Entry>
void ChunkSort::sort(std::uint64_t chunk, const TensorLayout& layout, SortedBatch& sorted) const {
  AlignedBuffer<Entry> entries(tensor_.nnz_of_chunk(chunk));
  const std::size_t order = layout.shape().size();
  {
    AlignedBuffer<std::byte> buffer(tensor_.buffer_bytes(chunk));
    std::vector<std::byte> scratch(tensor_.scratch_bytes(chunk));
    const ChunkView view = tensor_.read_chunk(chunk, buffer.span(), scratch);
    NonzeroFrame frame;
    std::array<std::uint64_t, max_order> point;
    for (std::size_t first = 0; first < entries.size(); first += frame_entries) {
      decoder_.decode(view, first / frame_entries, frame);
      for (std::size_t i = 0; i < frame.count; ++i) {
        for (std::size_t n = 0; n < order; ++n) point[n] = frame.coordinates[n][i];
        set_entry(entries.data()[first + i], layout.linearize({point.data(), order}), frame.values[i]);
      }
    }
  }
  sort_entries(entries.span());
  sorted.low.resize(entries.size());
  sorted.key.resize(layout.has_high_word() ? entries.size() : 0);
  sorted.values.resize(std::is_same_v<Entry, std::uint64_t> ? 0 : entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) take_apart(entries.data()[i], i, sorted);
}

void ChunkSort::run(std::uint64_t chunk, const TensorLayout& layout, SortedBatch& sorted) const {
  if (layout.has_high_word()) return sort<WideEntry>(chunk, layout, sorted);
  sort<LowEntry>(chunk, layout, sorted);
}

void ChunkSort::run_lines(std::uint64_t chunk, const TensorLayout& layout, SortedBatch& sorted) const {
  if (layout.has_high_word()) return run(chunk, layout, sorted);
  sort<std::uint64_t>(chunk, layout, sorted);
}

std::uint64_t ChunkSort::bytes(bool has_high_word, std::uint64_t nnz, std::uint64_t reading_bytes) {
  const std::uint64_t entries = mapped_bytes(nnz * (has_high_word ? sizeof(WideEntry) : sizeof(LowEntry)));
  const std::uint64_t result = nnz * (has_high_word ? 3 : 2) * sizeof(std::uint64_t);
  return entries + std::max(result, mapped_bytes(reading_bytes));
}

}  // namespace blco
