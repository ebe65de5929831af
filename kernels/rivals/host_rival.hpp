// What rivals on the CPU have in common: factors and outputs with padded rows, as our own kernels have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/rivals/rival.hpp"

namespace blco {

// T: double or float, for factors, values, products and sums.
template <class T>
class HostRival : public Rival {
 public:
  HostRival(std::span<const std::uint64_t> shape, int rank, Executor& executor)
      : rank_(static_cast<std::size_t>(rank)), executor_(executor) {
    for (const std::uint64_t length : shape) factors_.emplace_back(length, rank);
    output_ = RowMatrix<T>(*std::ranges::max_element(shape), rank);
  }

  void load_factor(int mode, std::span<const double> rows) override {
    RowMatrix<T>& factor = factors_[static_cast<std::size_t>(mode)];
    for (std::uint64_t row = 0; row < factor.rows(); ++row) {
      for (std::size_t r = 0; r < rank_; ++r) factor.row(row)[r] = static_cast<T>(rows[row * rank_ + r]);
    }
  }
  void read_output(std::span<double> rows) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(output_.row(i / rank_)[i % rank_]);
  }

 protected:
  std::size_t rank() const { return rank_; }
  std::size_t order() const { return factors_.size(); }
  // Numbers from one row to the next; those from rank() on are zero in factors.
  std::size_t stride() const { return output_.stride(); }
  Executor& executor() const { return executor_; }
  const RowMatrix<T>& factor(std::size_t mode) const { return factors_[mode]; }
  // Rows [0, I_n) are of the output of mode n.
  RowMatrix<T>& output() { return output_; }
  std::uint64_t length(std::size_t mode) const { return factors_[mode].rows(); }

  void zero_output(std::size_t mode) {
    const auto parts = static_cast<std::size_t>(executor_.width());
    const std::uint64_t numbers = length(mode) * stride();
    executor_.run(parts, [&](std::size_t part) {
      T* begin = output_.row(0);
      std::fill(begin + numbers * part / parts, begin + numbers * (part + 1) / parts, T{});
    });
  }

 private:
  std::size_t rank_;
  Executor& executor_;
  std::vector<RowMatrix<T>> factors_;
  RowMatrix<T> output_;
};

}  // namespace blco
