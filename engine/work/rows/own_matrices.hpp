// What a Tucker model is made of, where its rows are owned: matrices of R_n columns, and the unfolding of one mode.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "engine/work/rows/combining.hpp"
#include "engine/work/rows/placed_rows.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/stop_poll.hpp"

namespace blco {

// Of a job; all workers need them alike.
struct MatrixSizes {
  std::vector<std::uint64_t> columns = {};    // per mode, of its matrix; none: the job has no matrices
  std::vector<std::uint64_t> unfolding = {};  // per mode, of what is kept of its unfolding, at most
  std::uint64_t slab = 0;  // columns of all factors and outputs; 0: they have those of Kronecker products
  bool undoes = false;     // keeps the matrices as they were before

  std::uint64_t of_factor(std::size_t mode) const { return slab != 0 ? slab : columns[mode]; }
  std::uint64_t of_output(std::size_t mode) const { return slab != 0 ? slab : unfolding[mode]; }
};

enum class MatrixStep : std::uint8_t {
  keep,    // the matrices as they are, for undo
  undo,    // the matrices become what was kept
  finish,  // frees what was kept, and the unfolding
  load,    // rows of the matrix
  store,   // rows of the matrix or unfolding; the answer has this worker's of them, in order. A list of rows must rise
  load_factor,     // the factor: of each column the number of the matrix's column that it is; zeros beyond
  read_output,     // columns of the unfolding from `first` on: of each the number of the output's column that it is
  clear,           // the matrix
  add_products,    // to the matrix the output times C x R_n numbers
  project,         // the answer is the transposed matrix times the unfolding
  project_output,  // the same of the output
  multiply,        // the matrix becomes the unfolding times K x R_n numbers
  peaks,           // the functions of TallMatrix, of the matrix or the unfolding
  triangle,
  solve,
  divide_columns,
  draw_column,  // the one of number `first`
};

// What rank 0 orders from all workers. In a message the numbers that it goes by follow.
struct MatrixOrder {
  MatrixStep step = MatrixStep::keep;
  int mode = 0;
  bool of_unfolding = false;
  std::uint64_t first = 0;    // row or column
  std::uint64_t count = 0;    // of rows
  std::uint64_t columns = 0;  // of the unfolding
  std::uint64_t listed = 0;   // so many row numbers come first; 0: rows follow each other
};

// How the numbers that workers return are combined; none: it has no numbers to return, as combining_of(StepKind) says.
std::optional<Combining> combining_of(MatrixStep step);

inline bool needs_output(MatrixStep step) {
  return step == MatrixStep::read_output || step == MatrixStep::add_products || step == MatrixStep::project_output;
}

class OwnMatrices {
 public:
  // `rows` are of each mode. `executor` must outlive this. Long steps throw Error{cancelled} once `stop` says so.
  OwnMatrices(std::vector<PlacedRows> rows, const MatrixSizes& sizes, Executor& executor, StopPoll stop,
              const MemorySource& memory = {});
  // Of so many rows of each mode, whose lengths are `shape`, with what orders and steps take.
  static std::uint64_t bytes(const std::vector<std::uint64_t>& rows, const std::vector<std::uint64_t>& shape,
                             const MatrixSizes& sizes);

  // Carries out an order, and returns its numbers. The factors, and outputs, are this worker's.
  std::vector<double> take(const MatrixOrder& order, std::span<const double> given, Factors& factors);

 private:
  std::uint64_t rows_of(std::size_t mode) const { return rows_[mode].places.count(); }
  std::span<double> matrix(std::size_t mode) { return matrices_[mode].span(); }
  std::span<double> unfolding(const MatrixOrder& order) {
    return unfolding_.span().first(
        static_cast<std::size_t>(rows_of(static_cast<std::size_t>(order.mode)) * order.columns));
  }
  void load(const MatrixOrder& order, std::span<const double> given);
  std::vector<double> store(const MatrixOrder& order, std::span<const double> listed);
  void load_factor(const MatrixOrder& order, std::span<const double> chosen, Factors& factors);
  void read_output(const MatrixOrder& order, std::span<const double> chosen, Factors& factors);
  void add_products(const MatrixOrder& order, std::span<const double> given, Factors& factors);
  std::vector<double> project_output(const MatrixOrder& order, Factors& factors);
  // Calls visit(first of this worker's rows, room for rows of `width` numbers) for one block of them after the other.
  template <class Visit>
  void for_each_block(std::size_t mode, std::uint64_t width, const Visit& visit);
  // The same with rows of the output.
  template <class Visit>
  void for_each_block_of_output(int mode, Factors& factors, const Visit& visit);

  std::vector<PlacedRows> rows_;
  MatrixSizes sizes_;
  Executor& executor_;
  StopPoll stop_;
  std::vector<AlignedBuffer<double>> matrices_;
  std::vector<AlignedBuffer<double>> before_;
  AlignedBuffer<double> unfolding_;
  AlignedBuffer<double> block_;  // of rows
};

}  // namespace blco
