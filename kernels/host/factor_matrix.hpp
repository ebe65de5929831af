// A factor matrix with one bit per row for zero rows: rows of coordinates without nonzeros stay zero and cost no
// traffic.
#pragma once

#include <cstdint>

#include "kernels/aligned_buffer.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// Rows per word of bits.
inline constexpr std::uint64_t word_rows = 64;

constexpr std::uint64_t words_of(std::uint64_t rows) { return (rows + word_rows - 1) / word_rows; }

// If bit i % 64 of live[i / 64] is 0, row i is zero. Trivially copyable.
template <class T>
struct FactorView {
  RowsView<T> rows;
  std::uint64_t* live = nullptr;
};

// `Padded` as for RowMatrix.
template <class T, class Padded = T>
class FactorMatrix {
 public:
  FactorMatrix() = default;
  FactorMatrix(std::uint64_t rows, int rank) : matrix_(rows, rank), live_(words_of(rows)) {}

  static std::uint64_t bytes(std::uint64_t rows, int rank) {
    return RowMatrix<T, Padded>::bytes(rows, rank) + mapped_bytes(words_of(rows) * sizeof(std::uint64_t));
  }

  FactorView<T> view() { return {{matrix_.row(0), matrix_.rows(), matrix_.stride()}, live_.data()}; }
  const RowMatrix<T, Padded>& matrix() const { return matrix_; }

  // Call after writing rows without updating the bits.
  void mark_all_live() {
    for (std::uint64_t& word : live_.span()) word = ~std::uint64_t{0};
    const std::uint64_t last = matrix_.rows() % word_rows;
    if (last != 0) live_.span().back() = (std::uint64_t{1} << last) - 1;
  }

 private:
  RowMatrix<T, Padded> matrix_;
  AlignedBuffer<std::uint64_t> live_;
};

}  // namespace blco
