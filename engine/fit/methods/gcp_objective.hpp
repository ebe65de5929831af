// The loss over all cells of a tensor and its gradients, from one pass over its entries.
#pragma once

#include <blco/cpd_method.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/work/rows/gradient_of_zeros.hpp"
#include "engine/work/worker_group.hpp"
#include "kernels/losses.hpp"

namespace blco {

class GcpObjective {
 public:
  // Arguments must outlive this. Requires: sums_over_zeros(loss) if absent cells are zeros. `zeros_scale` multiplies
  // the sum of m over all cells where ZeroLoss::model has it.
  GcpObjective(WorkerGroup& workers, std::span<const std::uint64_t> shape, int rank, const Loss& loss,
               AbsentCells absent, double zeros_scale = 1);

  // The pass to run before value() and the gradients.
  PassRequest pass() const;
  double value();
  // What the zeros add to the gradient of a mode. Requires: value() was called since the pass.
  OtherModes others(int mode);
  // Rows from `first_row` on, row-major with R columns. Requires: value() was called since the pass.
  void read_gradient(int mode, std::uint64_t first_row, std::span<double> rows);

 private:
  int order() const { return static_cast<int>(shape_.size()); }
  void sum_columns();
  // -1: no mode is left out.
  void multiply_others(int left_out);

  WorkerGroup* workers_;
  std::span<const std::uint64_t> shape_;
  int rank_;
  Loss loss_;
  ZeroLoss at_zero_;
  AbsentCells absent_;
  double zeros_scale_;
  std::vector<std::vector<double>> column_sums_;  // per mode; for ZeroLoss::model
  // The product over the other modes of their Grams (ZeroLoss::square, R x R) or column sums (R).
  std::vector<double> others_;
  int others_mode_ = -1;
  std::vector<double> block_;
};

}  // namespace blco
