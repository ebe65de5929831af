// Dense steps of the host backend: row solves, normalisation, Gram matrices. Sums are f64; their order depends on rows
// and rank, not on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/host/factor_matrix.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/row_solver.hpp"

namespace blco {

struct RowSolveSums {
  std::vector<double> squares;  // R: sum of squares of each column of the solution
  double inner = 0;             // <given, solution>
};

class DenseKernels {
 public:
  // For matrices of up to `max_rows` rows. `executor` must outlive this.
  // With `stop`, functions end by Error{cancelled} once it says so, and leave their outputs in disorder.
  DenseKernels(int rank, std::uint64_t max_rows, Executor& executor, StopPoll stop = {});

  static std::uint64_t bytes(int rank, std::uint64_t max_rows, int threads);

  // Solves solution * V = given row by row; all have the same number of rows. `solution` is that of the factor, or
  // `given` itself if the factor's numbers are narrower. Zeroes `given`, while it is in the cache, but for the
  // solution, and rows of the factor that become zero.
  template <class Sum, class Factor>
  RowSolveSums solve_rows(const RowSolver& solver, RowsView<Sum> given, FactorView<Factor> factor,
                          RowsView<Sum> solution);

  // Multiplies column r of the solution by scale[r] (empty: by 1) into the factor, and writes the factor's Gram matrix,
  // row-major R x R. Zeroes the solution unless it lies in the factor.
  template <class Sum, class Factor>
  void scale_and_gram(RowsView<Sum> solution, FactorView<Factor> factor, std::span<const double> scale,
                      std::span<double> gram);

 private:
  template <class Task>
  void for_each_slice(std::uint64_t rows, bool backward, const Task& task);

  int rank_;
  Executor& executor_;
  StopPoll stop_;
  AlignedBuffer<double> slice_sums_;            // per slice: sums of solve_tile, or a Gram matrix
  std::vector<AlignedBuffer<double>> scratch_;  // per thread
};

}  // namespace blco
