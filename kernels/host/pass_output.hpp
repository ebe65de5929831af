// The output of one pass, and how several threads add to it: each to its own rows, or in private copies or blocks.
#pragma once

#include <cstdint>

#include "blco/executor.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// Part 0 adds to the output itself. The other parts have a copy of the whole output each, merged when the pass ends, or
// a block of those rows that the chunk can have, merged when the chunk ends; merges take the parts in their order.
// Where there is no room for that, or it would cost more than it saves, all parts add to the output itself, and each
// row is left to one of them: see row_exchange.hpp. The numbers depend on the number of parts where there are copies or
// blocks, and never on which part is faster.
template <class T>
class PassOutput {
 public:
  // For passes of up to `max_rows` rows, with one part per thread of `executor`, which must outlive this. At most
  // `private_bytes` for copies and blocks.
  PassOutput(std::uint64_t max_rows, int rank, std::uint64_t private_bytes, Executor& executor);

  // All but the private bytes; and how many of those can be of use.
  static std::uint64_t bytes(std::uint64_t max_rows, int rank);
  static std::uint64_t useful_private_bytes(std::uint64_t max_rows, int rank, int threads);

  // Zeroes `rows` rows where they may not be zero, also after a pass that was given up.
  void begin(std::uint64_t rows);
  // Every chunk is opened, added to by the parts through target(), and closed.
  void open_chunk(RowRange range, std::uint64_t nnz);
  // Where `part` adds (the rows of the nonzeros are left for the caller), and whether to rows of its own only.
  IndexedRows<T> target(std::size_t part);
  bool is_owned_by_rows() const { return sharing_ == Sharing::owners; }
  void close_chunk();
  void finish();
  // The caller has zeroed all rows(), as it used them up.
  void set_zeroed();
  // Frees the memory; there are no more passes.
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
  std::uint64_t used_rows_ = 0;  // all further ones are zero
  bool whole_copies_ = false;
  bool private_used_ = false;
  Sharing sharing_ = Sharing::alone;
  RowRange chunk_range_;
  RowRange touched_;  // of the copies, where private_used_ says that there are any
};

}  // namespace blco
