#include "tests/bench/rivals/sorted_lines.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "blco/layout.hpp"
#include "kernels/host/counting_scatter.hpp"
#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/natural_sort.hpp"

namespace blco {
namespace {

// No digit lies in both words: the key's first one begins at bit 64.
int next_shift(int shift) {
  const int next = shift + scatter_bits;
  return shift < 64 && next > 64 ? 64 : next;
}

struct ShortEntry {
  std::uint64_t low = 0;
  std::uint32_t nonzero = 0;

  static constexpr bool has_high_word = false;
  std::uint64_t key() const { return 0; }
  void set_key(std::uint64_t) {}
};

struct LongEntry {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint32_t nonzero = 0;

  static constexpr bool has_high_word = true;
  std::uint64_t key() const { return high; }
  void set_key(std::uint64_t key) { high = key; }
};

// The digit at bit `shift` of a line; bit 64 is the first one of the key.
template <class Entry>
std::size_t digit_of(const Entry& entry, int shift) {
  const std::uint64_t word = shift < 64 ? entry.low >> shift : entry.key() >> (shift - 64);
  return static_cast<std::size_t>(word & (scatter_digits - 1));
}

template <class Entry>
AlignedBuffer<Entry> lines_of(const RivalTensor& tensor, const TensorLayout& layout, Executor& executor) {
  AlignedBuffer<Entry> entries(tensor.nnz());
  run_shares(executor, tensor.nnz(), [&](std::uint64_t begin, std::uint64_t end) {
    std::array<std::uint64_t, max_order> point;
    const auto order = static_cast<std::size_t>(tensor.order());
    for (std::uint64_t i = begin; i < end; ++i) {
      for (std::size_t n = 0; n < order; ++n) point[n] = tensor.coordinates[n][i];
      const LineIndex line = layout.linearize(std::span(point).first(order));
      Entry& entry = entries.data()[i];
      entry.low = line.low;
      entry.set_key(line.key);
      entry.nonzero = static_cast<std::uint32_t>(i);
    }
  });
  return entries;
}

template <class Entry>
SortedLines sort_entries(const RivalTensor& tensor, const TensorLayout& layout, Executor& executor) {
  AlignedBuffer<Entry> entries = lines_of<Entry>(tensor, layout, executor);
  AlignedBuffer<Entry> next(tensor.nnz());
  for (int shift = 0; shift < layout.line_bits(); shift = next_shift(shift)) {
    const auto digit = [shift](const Entry& entry) { return digit_of(entry, shift); };
    counting_scatter(std::span<const Entry>(entries.span()), next.span(), digit, executor);
    std::swap(entries, next);
  }
  SortedLines sorted;
  sorted.lows = AlignedBuffer<std::uint64_t>(tensor.nnz());
  if (Entry::has_high_word) sorted.keys = AlignedBuffer<std::uint64_t>(tensor.nnz());
  sorted.nonzeros = AlignedBuffer<std::uint32_t>(tensor.nnz());
  run_shares(executor, tensor.nnz(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const Entry& entry = entries.data()[i];
      sorted.lows.data()[i] = entry.low;
      if (Entry::has_high_word) sorted.keys.data()[i] = entry.key();
      sorted.nonzeros.data()[i] = entry.nonzero;
    }
  });
  return sorted;
}

}  // namespace

SortedLines sort_lines(const RivalTensor& tensor, Executor& executor) {
  const TensorLayout layout(tensor.shape);
  return layout.has_high_word() ? sort_entries<LongEntry>(tensor, layout, executor)
                                : sort_entries<ShortEntry>(tensor, layout, executor);
}

}  // namespace blco
