// The loss over all entries of a tensor and its gradients, from one pass over the given ones.
#pragma once

#include <blco/evaluate.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"

namespace blco {

class GcpObjective {
 public:
  // Arguments must outlive this. Requires: sums_over_zeros(loss) if absent entries are zeros.
  GcpObjective(Backend& backend, Executor& executor, std::span<const std::uint64_t> shape, int rank, const Loss& loss,
               AbsentEntries absent);

  // The pass to run before value() and read_gradient().
  PassRequest pass() const;
  // Of the backend's factors.
  double value();
  // Rows from `first_row` on, row-major with R columns. Requires: value() was called since the pass.
  void read_gradient(int mode, std::uint64_t first_row, std::span<double> rows);

 private:
  int order() const { return static_cast<int>(shape_.size()); }
  void sum_columns();
  void multiply_others(int mode);
  void add_zeros_of_gaussian(int mode, std::uint64_t first_row, std::span<double> rows);

  Backend* backend_;
  Executor* executor_;
  std::span<const std::uint64_t> shape_;
  int rank_;
  Loss loss_;
  AbsentEntries absent_;
  std::vector<std::vector<double>> column_sums_;  // per mode; poisson only
  // The product over the other modes of their Grams (gaussian, R x R) or column sums (poisson, R).
  std::vector<double> others_;
  int others_mode_ = -1;
  std::vector<double> block_;
};

}  // namespace blco
