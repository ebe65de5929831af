// What rivals on the CPU have in common: factors and outputs with padded rows, as our own kernels have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

template <class T>
struct RivalMatrices {
  std::vector<RowMatrix<T>> factors;  // per mode
  RowMatrix<T> output;                // of the longest mode
};

// T: double or float, for factors, values, products and sums.
template <class T>
class HostRival : public Rival {
 public:
  HostRival(std::span<const std::uint64_t> shape, const RivalOptions& options, Executor& executor)
      : rank_(static_cast<std::size_t>(options.rank)), executor_(executor) {
    if (const auto* sibling = dynamic_cast<const HostRival*>(options.sibling)) {
      matrices_ = sibling->matrices_;
      return;
    }
    matrices_ = std::make_shared<RivalMatrices<T>>();
    for (const std::uint64_t length : shape) matrices_->factors.emplace_back(length, options.rank);
    matrices_->output = RowMatrix<T>(*std::ranges::max_element(shape), options.rank);
  }

  void load_factor(int mode, std::span<const double> rows) override {
    RowMatrix<T>& factor = matrices_->factors[static_cast<std::size_t>(mode)];
    for (std::uint64_t row = 0; row < factor.rows(); ++row) {
      for (std::size_t r = 0; r < rank_; ++r) factor.row(row)[r] = static_cast<T>(rows[row * rank_ + r]);
    }
  }
  void read_output(std::span<double> rows) const override {
    const RowMatrix<T>& output = matrices_->output;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(output.row(i / rank_)[i % rank_]);
  }

 protected:
  std::size_t rank() const { return rank_; }
  std::size_t order() const { return matrices_->factors.size(); }
  // Numbers from one row to the next; those from rank() on are zero in factors.
  std::size_t stride() const { return matrices_->output.stride(); }
  Executor& executor() const { return executor_; }
  const RowMatrix<T>& factor(std::size_t mode) const { return matrices_->factors[mode]; }
  // Rows [0, I_n) are of the output of mode n.
  RowMatrix<T>& output() { return matrices_->output; }
  std::uint64_t length(std::size_t mode) const { return matrices_->factors[mode].rows(); }

  void zero_output(std::size_t mode) {
    run_shares(executor_, length(mode) * stride(), [&](std::uint64_t begin, std::uint64_t end) {
      std::fill(output().row(0) + begin, output().row(0) + end, T{});
    });
  }

 private:
  std::size_t rank_;
  Executor& executor_;
  std::shared_ptr<RivalMatrices<T>> matrices_;
};

}  // namespace blco
