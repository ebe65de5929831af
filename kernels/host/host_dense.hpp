// Dense steps of the host backend: row updates, normalisation, Gram matrices, row steps of methods. Sums are f64; their
// order depends on rows and rank, not on threads.
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

// `Sum`: of outputs; `Factor`: of factors.
template <class Sum, class Factor>
class DenseKernels {
 public:
  // For matrices of up to `max_rows` rows; `duals`: also for ADMM. `executor` must outlive this.
  // With `stop`, functions end by Error{cancelled} once it says so, and leave their outputs in disorder.
  DenseKernels(int rank, std::uint64_t max_rows, bool duals, Executor& executor, StopPoll stop = {},
               const MemorySource& memory = {});

  // Steps::solve_rows of `given`; all matrices have the same number of rows. `solution` is that of the factor, or
  // `given` itself if the factor's numbers are narrower; else this zeroes `given`.
  SolvedRows solve_rows(const RowProblem& problem, RowsView<Sum> given, const OldRows<Factor>& old,
                        FactorView<Factor> factor, RowsView<Sum> solution);
  // Steps::scale_rows of that solution, which this zeroes unless it is that of the factor. `filling` goes into columns
  // whose divisor is 0. `gram` is as that of make_gram.
  void divide_columns(std::span<const double> divisors, double filling, FactorView<Factor> factor,
                      RowsView<Sum> solution, std::span<double> gram);

  // Writes the factor's Gram matrix, row-major R x R.
  void make_gram(FactorView<Factor> factor, std::span<double> gram);

  // The steps of Factors of these names; outputs have as many rows as factors. Those that change rows leave `live` to
  // the caller.
  std::vector<double> column_sums(RowsView<const Factor> factor, bool squared = false);
  AprViolation apr_measure(RowsView<const Sum> output, RowsView<const Factor> factor, const AprStep& step,
                           bool until_any);
  void apr_free_zeros(RowsView<const Sum> output, RowsView<Factor> factor, const AprStep& step);
  void apr_multiply(RowsView<const Sum> output, RowsView<Factor> factor, const AprStep& step);
  double cg_end(RowsView<Factor> factor, const double* solution);

 private:
  std::uint64_t columns() const { return static_cast<std::uint64_t>(rank_); }
  template <class Task>
  void for_each_slice(std::uint64_t rows, std::uint64_t sum_count, bool backward, const Task& task);
  const double* sums_of_slice(std::uint64_t slice) const;
  const double* phi_of_row(const Sum* output, const AprStep& step, double* made) const;
  void fill_columns(std::span<const std::uint64_t> columns, double number, FactorView<Factor> factor,
                    RowsView<Sum> solution);
  template <class Solution>
  void scale_and_gram(RowsView<Solution> solution, FactorView<Factor> factor, std::span<const double> scale,
                      std::span<double> gram);

  int rank_;
  Executor& executor_;
  StopPoll stop_;
  AlignedBuffer<double> slice_sums_;            // per slice: sums of solve_tile, or a Gram matrix
  std::vector<AlignedBuffer<double>> scratch_;  // per thread
};

}  // namespace blco
