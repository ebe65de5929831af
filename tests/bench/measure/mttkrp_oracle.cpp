#include "tests/bench/measure/mttkrp_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace blco {

double largest_error(std::span<const double> numbers, std::span<const double> sums,
                     std::span<const double> absolute_sums) {
  double largest = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double error = std::abs(numbers[i] - sums[i]);
    if (error == 0) continue;
    const double relative = error / absolute_sums[i];
    if (!std::isfinite(relative)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, relative);
  }
  return largest;
}

void MttkrpOracle::compute(int mode) {
  const auto n = static_cast<std::size_t>(mode);
  sums_.assign(tensor_->shape[n] * rank_, 0.0);
  absolute_sums_.assign(sums_.size(), 0.0);
  const auto parts = std::min<std::size_t>(static_cast<std::size_t>(executor_->width()), rank_);
  executor_->run(parts, [&](std::size_t part) { add_columns(n, rank_ * part / parts, rank_ * (part + 1) / parts); });
}

void MttkrpOracle::add_columns(std::size_t mode, std::size_t first, std::size_t last) {
  std::vector<double> product(last - first);
  for (std::uint64_t i = 0; i < tensor_->nnz(); ++i) {
    std::ranges::fill(product, tensor_->values[i]);
    for (std::size_t m = 0; m < factors_.size(); ++m) {
      if (m == mode) continue;
      const double* row = factors_[m].data() + tensor_->coordinates[m][i] * rank_ + first;
      for (std::size_t r = 0; r < product.size(); ++r) product[r] *= row[r];
    }
    const std::size_t at = tensor_->coordinates[mode][i] * rank_ + first;
    for (std::size_t r = 0; r < product.size(); ++r) {
      sums_[at + r] += product[r];
      absolute_sums_[at + r] += std::abs(product[r]);
    }
  }
}

}  // namespace blco
