// A factor or output matrix with rows zero-padded to whole vectors, so that kernels need no remainder loop.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/aligned_buffer.hpp"

namespace blco {

// Half of a common L2 cache: a matrix of up to this size stays there without prefetches.
inline constexpr std::uint64_t cached_bytes = std::uint64_t{512} << 10;

// Elements from one row to the next: 1, 2, 4 (also 8 for float) or whole cache lines. A row never crosses more cache
// lines than it must.
template <class T>
constexpr std::uint64_t padded_numbers(std::uint64_t wanted) {
  constexpr std::uint64_t line = cache_line_bytes / sizeof(T);
  for (std::uint64_t small = 1; small < line; small *= 2) {
    if (wanted <= small) return small;
  }
  return (wanted + line - 1) / line * line;
}
template <class T>
constexpr std::uint64_t padded_rank(int rank) {
  return padded_numbers<T>(static_cast<std::uint64_t>(rank));
}

// The stride is that of a matrix of `Padded`, so that matrices of different numbers can have the same.
template <class T, class Padded = T>
class RowMatrix {
 public:
  RowMatrix() = default;
  RowMatrix(std::uint64_t rows, int rank, const MemorySource& memory = {})
      : rows_(rows), stride_(padded_rank<Padded>(rank)), data_(rows * stride_, memory) {}

  std::uint64_t rows() const { return rows_; }
  std::uint64_t stride() const { return stride_; }
  std::uint64_t bytes() const { return data_.size() * sizeof(T); }
  T* row(std::uint64_t i) { return data_.data() + i * stride_; }
  const T* row(std::uint64_t i) const { return data_.data() + i * stride_; }

 private:
  std::uint64_t rows_ = 0;
  std::uint64_t stride_ = 0;
  AlignedBuffer<T> data_;
};

// Non-owning view of some rows of a matrix. Trivially copyable.
template <class T>
struct RowsView {
  T* data = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t stride = 0;

  T* row(std::uint64_t i) const { return data + i * stride; }
  RowsView part(std::uint64_t first, std::uint64_t count) const { return {row(first), count, stride}; }
};

template <class T, class Padded>
RowsView<T> view(RowMatrix<T, Padded>& matrix) {
  return {matrix.row(0), matrix.rows(), matrix.stride()};
}
template <class T, class Padded>
RowsView<const T> view(const RowMatrix<T, Padded>& matrix) {
  return {matrix.row(0), matrix.rows(), matrix.stride()};
}

// Rows per word of bits.
inline constexpr std::uint64_t word_rows = 64;

constexpr std::uint64_t words_of(std::uint64_t rows) { return (rows + word_rows - 1) / word_rows; }

// If bit i % 64 of live[i / 64] is 0, row i is zero. Bits beyond the last row say nothing. Trivially copyable.
template <class T>
struct FactorView {
  RowsView<T> rows;
  std::uint64_t* live = nullptr;
};

// A factor, with one bit per row for zero rows: rows of coordinates without nonzeros stay zero and cost no traffic.
// `Padded` as for RowMatrix.
template <class T, class Padded = T>
class FactorMatrix {
 public:
  FactorMatrix() = default;
  FactorMatrix(std::uint64_t rows, int rank, const MemorySource& memory = {})
      : matrix_(rows, rank, memory), live_(words_of(rows) + 1, memory) {}

  RowsView<T> rows() { return {matrix_.row(0), matrix_.rows(), matrix_.stride()}; }
  // The same part in each call; before another one, call mark_all_live(). Its words of bits begin at its first row.
  FactorView<T> part(std::uint64_t first, std::uint64_t count) {
    is_all_live_ = false;
    return {rows().part(first, count), live_.data() + words_of(first)};
  }
  const RowMatrix<T, Padded>& matrix() const { return matrix_; }

  // Call after writing rows without updating the bits.
  void mark_all_live() {
    if (std::exchange(is_all_live_, true)) return;
    for (std::uint64_t& word : live_.span()) word = ~std::uint64_t{0};
  }

 private:
  RowMatrix<T, Padded> matrix_;
  AlignedBuffer<std::uint64_t> live_;
  bool is_all_live_ = false;
};

}  // namespace blco
