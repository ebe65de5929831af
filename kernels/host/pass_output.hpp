// The output of one pass, and how several threads add to it: each to its own rows, or to private copies or blocks.
#pragma once

#include <cstdint>

#include "blco/executor.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// Part 0 always adds to the output itself. The other parts each use a private copy of the whole output, merged at the
// end of the pass, or a private block of the rows that the chunk can touch, merged at the end of the chunk; merges take
// the parts in order. If there is no room for that, or merging would cost more than it saves, all parts add to the
// output itself, and one part owns each row: see row_exchange.hpp. With copies or blocks the numbers depend on the
// number of parts, but never on which part is faster.
template <class T>
class PassOutput {
 public:
  // For passes of up to `max_rows` rows, with one part per thread of `executor`, which must outlive this. Copies and
  // blocks take at most `private_bytes`.
  PassOutput(std::uint64_t max_rows, int rank, std::uint64_t private_bytes, Executor& executor);

  // Memory without the private bytes, and the largest private bytes of use.
  static std::uint64_t bytes(std::uint64_t max_rows, int rank);
  static std::uint64_t useful_private_bytes(std::uint64_t max_rows, int rank, int threads);

  // Zeroes the first `rows` rows where needed, also after a pass that failed.
  void begin(std::uint64_t rows);
  // Per chunk: open_chunk(), then the parts add through target(), then close_chunk().
  void open_chunk(RowRange range, std::uint64_t nnz);
  // Where `part` adds; the caller fills in the rows of the nonzeros. is_owned_by_rows(): each part adds only to rows
  // that it owns.
  IndexedRows<T> target(std::size_t part);
  bool is_owned_by_rows() const { return sharing_ == Sharing::owners; }
  void close_chunk();
  void finish();
  // The caller has zeroed all rows() while consuming them.
  void set_zeroed();
  // Frees the memory. No passes may follow.
  void release();

  RowsView<T> rows() { return {matrix_.row(0), rows_, matrix_.stride()}; }
  RowsView<const T> rows() const { return {matrix_.row(0), rows_, matrix_.stride()}; }

 private:
  enum class Sharing { alone, copies, blocks, owners };

  std::uint64_t parts() const { return static_cast<std::uint64_t>(executor_.width()); }
  bool fits(std::uint64_t row_count) const;
  void merge(RowRange range, std::uint64_t first_row, std::uint64_t row_count);

  Executor& executor_;
  RowMatrix<T> matrix_;
  AlignedBuffer<T> private_;  // zero outside of a pass
  std::uint64_t rows_ = 0;
  std::uint64_t used_rows_ = 0;  // all later rows are zero
  bool whole_copies_ = false;
  bool private_used_ = false;
  Sharing sharing_ = Sharing::alone;
  RowRange chunk_range_;
  RowRange touched_;  // by the copies; valid if private_used_
};

}  // namespace blco
