// The output of one pass, and how several threads add to it: each to its own rows, or to private copies or blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "blco/executor.hpp"
#include "kernels/account.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {

// Part 0 always adds to the output itself. The other parts each use a private copy of the whole output, merged at the
// end of the pass, or a private block of the rows that the chunk can touch, merged at the end of the chunk; merges take
// the parts in order. If there is no room for that, or merging would cost more than it saves, all parts add to the
// output itself, and one part owns each row: see row_exchange.hpp. With copies or blocks the numbers depend on the
// number of parts, but never on which part is faster.
template <class T>
class PassOutput {
 public:
  // For passes of up to `numbers` numbers, padding included, with one part per thread of `executor`, which must outlive
  // this. Copies and blocks take at most `private_bytes`.
  PassOutput(std::uint64_t numbers, std::uint64_t private_bytes, Executor& executor, const MemorySource& memory = {})
      : executor_(executor),
        numbers_(numbers, memory.by_rank(output_term)),
        private_(std::min(private_bytes, useful_private_bytes(numbers, executor.width())) / sizeof(T), memory) {}

  // The largest private bytes of use.
  static std::uint64_t useful_private_bytes(std::uint64_t numbers, int threads) {
    return static_cast<std::uint64_t>(threads - 1) * numbers * sizeof(T);
  }

  // Makes the output `rows` rows, `stride` numbers apart, and zeroes them where needed, also after a pass that failed.
  void begin(std::uint64_t rows, std::uint64_t stride) {
    rows_ = rows;
    stride_ = stride;
    whole_copies_ = fits(rows);
    if (private_used_) std::fill_n(private_.data(), private_.size(), T{0});
    private_used_ = false;
    const std::uint64_t used = std::min(rows * stride, used_);
    used_ = std::max(rows * stride, used_);
    if (used == 0) return;
    run_shares(executor_, used, [&](std::uint64_t first, std::uint64_t end) {
      std::fill(numbers_.data() + first, numbers_.data() + end, T{0});
    });
  }

  // Per chunk: open_chunk(), then the parts add through target(), then close_chunk().
  void open_chunk(RowRange range, std::uint64_t nnz) {
    chunk_range_ = range;
    const std::uint64_t row_count = range.count();
    if (parts() == 1) {
      sharing_ = Sharing::alone;
    } else if (whole_copies_) {
      sharing_ = Sharing::copies;
      touched_ = private_used_ ? RowRange{std::min(touched_.lower, range.lower), std::max(touched_.upper, range.upper)}
                               : range;
      private_used_ = true;
    } else if (fits(row_count) && row_count * (parts() - 1) < nnz) {
      sharing_ = Sharing::blocks;
      private_used_ = true;
    } else {
      sharing_ = Sharing::owners;
    }
  }

  // Where `part` adds; the caller fills in the rows of the nonzeros. is_owned_by_rows(): each part adds only to rows
  // that it owns.
  IndexedRows<T> target(std::size_t part) {
    IndexedRows<T> target{.matrix = numbers_.data()};
    if (part == 0) return target;
    if (sharing_ == Sharing::copies) target.matrix = private_.data() + (part - 1) * rows_ * stride_;
    if (sharing_ == Sharing::blocks) {
      target.matrix = private_.data() + (part - 1) * chunk_range_.count() * stride_;
      target.first_row = chunk_range_.lower;
    }
    return target;
  }

  bool is_owned_by_rows() const { return sharing_ == Sharing::owners; }
  void close_chunk() {
    if (sharing_ != Sharing::blocks) return;
    merge(chunk_range_, chunk_range_.lower, chunk_range_.count());
    private_used_ = false;
  }

  void finish() {
    // The next begin() clears the blocks of a chunk that failed.
    if (!private_used_ || !whole_copies_) return;
    merge(touched_, 0, rows_);
    private_used_ = false;
  }

  // The caller has zeroed all rows() while consuming them.
  void set_zeroed() {
    if (used_ <= rows_ * stride_) used_ = 0;
  }

  // Frees the memory. No passes may follow.
  void release() {
    rows_ = used_ = 0;
    numbers_ = {};
    private_ = {};
  }

  RowsView<T> rows() { return {numbers_.data(), rows_, stride_}; }
  RowsView<const T> rows() const { return {numbers_.data(), rows_, stride_}; }

 private:
  enum class Sharing { alone, copies, blocks, owners };

  std::uint64_t parts() const { return static_cast<std::uint64_t>(executor_.width()); }
  bool fits(std::uint64_t row_count) const { return (parts() - 1) * row_count * stride_ <= private_.size(); }

  // Adds the rows of `range` of every part's matrix, which holds `row_count` rows from `first_row` on, and zeroes them.
  void merge(RowRange range, std::uint64_t first_row, std::uint64_t row_count) {
    run_shares(executor_, range.count(), [&](std::uint64_t from, std::uint64_t to) {
      const std::uint64_t first = range.lower + from;
      const std::uint64_t end = range.lower + to;
      // In strips, so that the output is read only once for all copies.
      constexpr std::uint64_t strip_elements = 2048;
      const std::uint64_t strip = std::max<std::uint64_t>(strip_elements / stride_, 1);
      for (std::uint64_t row = first; row < end; row += strip) {
        const std::uint64_t elements = std::min(strip, end - row) * stride_;
        T* out = numbers_.data() + row * stride_;
        for (std::uint64_t part = 1; part < parts(); ++part) {
          T* copy = private_.data() + ((part - 1) * row_count + row - first_row) * stride_;
          for (std::uint64_t i = 0; i < elements; ++i) out[i] += copy[i];
          std::memset(static_cast<void*>(copy), 0, elements * sizeof(T));
        }
      }
    });
  }

  Executor& executor_;
  AlignedBuffer<T> numbers_;
  AlignedBuffer<T> private_;  // zero outside of a pass
  std::uint64_t rows_ = 0;
  std::uint64_t stride_ = 0;
  std::uint64_t used_ = 0;  // all later numbers are zero
  bool whole_copies_ = false;
  bool private_used_ = false;
  Sharing sharing_ = Sharing::alone;
  RowRange chunk_range_;
  RowRange touched_;  // by the copies; valid if private_used_
};

}  // namespace blco
