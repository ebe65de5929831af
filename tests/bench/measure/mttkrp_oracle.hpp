// MTTKRP by a plain loop over coordinates, in f64: what outputs of all formats are checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// The largest error of a number relative to the sum of the absolute values that it is the sum of. Infinite for one that
// is not finite, or not 0 where nothing was added.
double largest_error(std::span<const double> numbers, std::span<const double> sums,
                     std::span<const double> absolute_sums);

class MttkrpOracle {
 public:
  // `factors`: per mode I_n x R, row-major. All must outlive this.
  MttkrpOracle(const RivalTensor& tensor, std::span<const std::vector<double>> factors, int rank, Executor& executor)
      : tensor_(&tensor), factors_(factors), rank_(static_cast<std::size_t>(rank)), executor_(&executor) {}

  // Computes the output of `mode`, and of each entry the sum of the absolute values added up. Every entry is summed by
  // one thread, in natural order.
  void compute(int mode);
  // Of `rows`, I_n x R, of the mode computed last.
  double error_of(std::span<const double> rows) const { return largest_error(rows, sums_, absolute_sums_); }

 private:
  void add_columns(std::size_t mode, std::size_t first, std::size_t last);

  const RivalTensor* tensor_;
  std::span<const std::vector<double>> factors_;
  std::size_t rank_;
  Executor* executor_;
  std::vector<double> sums_;
  std::vector<double> absolute_sums_;
};

}  // namespace blco
