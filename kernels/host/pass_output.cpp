// Chooses how the parts share the output, chunk by chunk, and merges their private sums.
#include "kernels/host/pass_output.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/part_ranges.hpp"

namespace blco {

template <class T>
PassOutput<T>::PassOutput(std::uint64_t max_rows, int rank, std::uint64_t private_bytes, Executor& executor)
    : executor_(executor),
      matrix_(max_rows, rank),
      private_(std::min(private_bytes, useful_private_bytes(max_rows, rank, executor.width())) / sizeof(T)) {}

template <class T>
std::uint64_t PassOutput<T>::bytes(std::uint64_t max_rows, int rank) {
  return mapped_bytes(max_rows * padded_rank<T>(rank) * sizeof(T));
}

template <class T>
std::uint64_t PassOutput<T>::useful_private_bytes(std::uint64_t max_rows, int rank, int threads) {
  return static_cast<std::uint64_t>(threads - 1) * max_rows * padded_rank<T>(rank) * sizeof(T);
}

template <class T>
bool PassOutput<T>::fits(std::uint64_t row_count) const {
  return (parts() - 1) * row_count * matrix_.stride() <= private_.size();
}

template <class T>
void PassOutput<T>::begin(std::uint64_t rows) {
  rows_ = rows;
  whole_copies_ = fits(rows);
  if (private_used_) std::fill_n(private_.data(), private_.size(), T{0});
  private_used_ = false;
  const std::uint64_t used = std::min(rows, used_rows_);
  used_rows_ = std::max(rows, used_rows_);
  if (used == 0) return;
  run_shares(executor_, used, [&](std::uint64_t first, std::uint64_t end) {
    std::memset(static_cast<void*>(matrix_.row(first)), 0, (end - first) * matrix_.stride() * sizeof(T));
  });
}

template <class T>
void PassOutput<T>::set_zeroed() {
  if (used_rows_ <= rows_) used_rows_ = 0;
}

template <class T>
void PassOutput<T>::open_chunk(RowRange range, std::uint64_t nnz) {
  chunk_range_ = range;
  const std::uint64_t row_count = std::uint64_t{range.upper} - range.lower + 1;
  if (parts() == 1) {
    sharing_ = Sharing::alone;
  } else if (whole_copies_) {
    sharing_ = Sharing::copies;
    touched_ =
        private_used_ ? RowRange{std::min(touched_.lower, range.lower), std::max(touched_.upper, range.upper)} : range;
    private_used_ = true;
  } else if (fits(row_count) && row_count * (parts() - 1) < nnz) {
    sharing_ = Sharing::blocks;
    private_used_ = true;
  } else {
    sharing_ = Sharing::owners;
  }
}

template <class T>
IndexedRows<T> PassOutput<T>::target(std::size_t part) {
  const std::uint64_t stride = matrix_.stride();
  IndexedRows<T> whole;
  whole.matrix = matrix_.row(0);
  if (part == 0) return whole;
  if (sharing_ == Sharing::copies) {
    whole.matrix = private_.data() + (part - 1) * rows_ * stride;
    return whole;
  }
  if (sharing_ == Sharing::blocks) {
    const std::uint64_t elements = (std::uint64_t{chunk_range_.upper} - chunk_range_.lower + 1) * stride;
    IndexedRows<T> block;
    block.matrix = private_.data() + (part - 1) * elements;
    block.first_row = chunk_range_.lower;
    return block;
  }
  return whole;
}

template <class T>
void PassOutput<T>::close_chunk() {
  if (sharing_ != Sharing::blocks) return;
  merge(chunk_range_, chunk_range_.lower, std::uint64_t{chunk_range_.upper} - chunk_range_.lower + 1);
  private_used_ = false;
}

template <class T>
void PassOutput<T>::finish() {
  // The next begin() clears the blocks of a chunk that failed.
  if (!private_used_ || !whole_copies_) return;
  merge(touched_, 0, rows_);
  private_used_ = false;
}

template <class T>
void PassOutput<T>::release() {
  rows_ = used_rows_ = 0;
  matrix_ = {};
  private_ = {};
}

// Adds the rows of `range` of every part's matrix, which holds `row_count` rows from `first_row` on, and zeroes them.
template <class T>
void PassOutput<T>::merge(RowRange range, std::uint64_t first_row, std::uint64_t row_count) {
  const std::uint64_t stride = matrix_.stride();
  const std::uint64_t span = std::uint64_t{range.upper} - range.lower + 1;
  run_shares(executor_, span, [&](std::uint64_t from, std::uint64_t to) {
    const std::uint64_t first = range.lower + from;
    const std::uint64_t end = range.lower + to;
    // In strips, so that the output is read only once for all copies.
    constexpr std::uint64_t strip_elements = 2048;
    const std::uint64_t strip = std::max<std::uint64_t>(strip_elements / stride, 1);
    for (std::uint64_t row = first; row < end; row += strip) {
      const std::uint64_t elements = std::min(strip, end - row) * stride;
      T* out = matrix_.row(row);
      for (std::uint64_t part = 1; part < parts(); ++part) {
        T* copy = private_.data() + ((part - 1) * row_count + row - first_row) * stride;
        for (std::uint64_t i = 0; i < elements; ++i) out[i] += copy[i];
        std::memset(static_cast<void*>(copy), 0, elements * sizeof(T));
      }
    }
  });
}

template class PassOutput<double>;
template class PassOutput<float>;

}  // namespace blco
