// Dense steps of the host backend: row updates, normalisation, Gram matrices. Sums are f64; their order depends on rows
// and rank, not on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// Where constrained updates start from. Each may lie where the new rows go.
template <class Factor>
struct OldRows {
  RowsView<const Factor> factor;
  RowsView<const Factor> dual = {};  // ADMM only
  RowsView<Factor> new_dual = {};    // ADMM only
};

class DenseKernels {
 public:
  // For matrices of up to `max_rows` rows; `duals`: also for ADMM. `executor` must outlive this.
  // With `stop`, functions end by Error{cancelled} once it says so, and leave their outputs in disorder.
  DenseKernels(int rank, std::uint64_t max_rows, bool duals, Executor& executor, StopPoll stop = {});

  static std::uint64_t bytes(int rank, std::uint64_t max_rows, bool duals, int threads);

  // Backend::update_rows of `given`; all matrices have the same number of rows. `solution` is that of the factor, or
  // `given` itself if the factor's numbers are narrower. Zeroes `given`. `gram` is as that of scale_and_gram.
  template <class Sum, class Factor>
  RowUpdate update_rows(const RowProblem& problem, RowsView<Sum> given, const OldRows<Factor>& old,
                        FactorView<Factor> factor, RowsView<Sum> solution, std::span<double> gram);

  // Multiplies column r of the solution by scale[r] (empty: by 1) into the factor, and writes the factor's Gram matrix,
  // row-major R x R. Zeroes the solution unless it lies in the factor.
  template <class Sum, class Factor>
  void scale_and_gram(RowsView<Sum> solution, FactorView<Factor> factor, std::span<const double> scale,
                      std::span<double> gram);

 private:
  template <class Task>
  void for_each_slice(std::uint64_t rows, bool backward, const Task& task);
  template <class Sum, class Factor>
  RowUpdate solve_rows(const RowProblem& problem, RowsView<Sum> given, const OldRows<Factor>& old,
                       FactorView<Factor> factor, RowsView<Sum> solution);
  template <class Sum, class Factor>
  void fill_columns(std::span<const std::uint64_t> columns, double number, FactorView<Factor> factor,
                    RowsView<Sum> solution);

  int rank_;
  Executor& executor_;
  StopPoll stop_;
  AlignedBuffer<double> slice_sums_;            // per slice: sums of solve_tile, or a Gram matrix
  std::vector<AlignedBuffer<double>> scratch_;  // per thread
};

}  // namespace blco
