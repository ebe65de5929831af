// The matrices of a job's workers, and the unfolding of one mode, as rank 0 sees them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/work/original_rows.hpp"
#include "engine/work/rows/own_matrices.hpp"
#include "engine/work/worker_group.hpp"

namespace blco {

class SharedMatrices {
 public:
  // All zero at first. `shape` is that of the tensor, `sizes` those of the job. `rows` knows where rows lie; it and
  // `workers` must outlive this.
  SharedMatrices(WorkerGroup& workers, OriginalRows& rows, std::vector<std::uint64_t> shape, MatrixSizes sizes)
      : workers_(&workers), rows_(&rows), shape_(std::move(shape)), sizes_(std::move(sizes)) {}

  // Sets rows of a mode's matrix from `first_row` on, or reads them, row-major and by the tensor's own indices.
  void load(std::size_t mode, std::uint64_t first_row, std::span<const double> rows);
  void store(std::size_t mode, std::uint64_t first_row, std::span<double> rows);
  // The whole matrix, and the unfolding as far as it has been read.
  std::vector<double> matrix(std::size_t mode) { return whole(mode, /*of_unfolding=*/false); }
  std::vector<double> unfolding(std::size_t mode) { return whole(mode, /*of_unfolding=*/true); }

  void keep() { take(MatrixStep::keep, 0); }
  // Brings back what was kept.
  void undo() { take(MatrixStep::undo, 0); }
  // Frees what was kept, and the unfolding.
  void finish() { take(MatrixStep::finish, 0); }
  // Makes the factor of these columns of the matrix; zeros beyond.
  void load_factor(std::size_t mode, const std::vector<std::uint64_t>& columns);
  // The unfolding has so many columns from here on.
  void begin_unfolding(std::uint64_t columns) { unfolding_ = columns; }
  // Makes columns of the unfolding, from `first` on, of these columns of the output.
  void read_output(std::size_t mode, std::uint64_t first, const std::vector<std::uint64_t>& columns);
  bool has_finite_unfolding(std::size_t mode);
  void clear(std::size_t mode) { take(MatrixStep::clear, mode); }
  // Adds the output times `numbers`, C x R_n, to the matrix.
  void add_products(std::size_t mode, std::span<const double> numbers);
  // The transposed matrix times the unfolding, or times the output: R_n x their columns.
  std::vector<double> project(std::size_t mode) { return take(MatrixStep::project, mode); }
  std::vector<double> project_output(std::size_t mode) { return take(MatrixStep::project_output, mode); }
  // As the functions on tall matrices. The vectors are those of the unfolding; `executor` computes those of one that
  // has more columns than rows.
  void orthonormalise(std::size_t mode);
  void set_leading_left_vectors(std::size_t mode, Executor& executor, const StopPoll& stop);

 private:
  std::vector<double> take(MatrixStep step, std::size_t mode) { return workers_->take(order_of(step, mode)); }
  MatrixOrder order_of(MatrixStep step, std::size_t mode) const {
    return {.step = step, .mode = static_cast<int>(mode), .columns = unfolding_};
  }
  void store(std::size_t mode, bool of_unfolding, std::uint64_t first_row, std::span<double> rows);
  // The answer to a store order, of so many numbers. Throws Error{io} for another length.
  std::vector<double> rows_of(const MatrixOrder& order, std::span<const double> listed, std::size_t numbers);
  std::vector<double> whole(std::size_t mode, bool of_unfolding);

  WorkerGroup* workers_;
  OriginalRows* rows_;
  std::vector<std::uint64_t> shape_;
  MatrixSizes sizes_;
  std::uint64_t unfolding_ = 0;  // columns
};

}  // namespace blco
