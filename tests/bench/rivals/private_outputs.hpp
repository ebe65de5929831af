// An output per thread, merged at the end of a pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {

// The first part adds to the output itself, every other one to a copy of its own. T: double or float.
template <class T>
class PrivateOutputs {
 public:
  PrivateOutputs(std::uint64_t rows, int rank, int parts) {
    for (int part = 1; part < parts; ++part) copies_.emplace_back(rows, rank);
  }

  std::size_t parts() const { return copies_.size() + 1; }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const RowMatrix<T>& copy : copies_) sum += copy.bytes();
    return sum;
  }

  // The part's output, its first `numbers` zeroed.
  T* begin_part(std::size_t part, T* output, std::uint64_t numbers) {
    T* own = part == 0 ? output : copies_[part - 1].row(0);
    std::fill_n(own, numbers, T{});
    return own;
  }

  // Adds the first `numbers` of all copies to the output.
  void merge(T* output, std::uint64_t numbers, Executor& executor) const {
    if (copies_.empty()) return;
    run_shares(executor, numbers, [&](std::uint64_t begin, std::uint64_t end) {
      for (const RowMatrix<T>& copy : copies_) {
        const T* from = copy.row(0);
        for (std::uint64_t i = begin; i < end; ++i) output[i] += from[i];
      }
    });
  }

 private:
  std::vector<RowMatrix<T>> copies_;
};

}  // namespace blco
