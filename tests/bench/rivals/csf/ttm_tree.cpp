#include "tests/bench/rivals/csf/ttm_tree.hpp"

#include <algorithm>

#include "tests/bench/rivals/csf/csf_counts.hpp"

namespace blco {
namespace {

// So that a thread that ends early helps the others.
constexpr std::size_t parts_of_thread = 16;

constexpr std::uint64_t index_word = sizeof(std::uint32_t);

std::vector<int> modes_over(int mode, int order) {
  std::vector<int> modes;
  for (int other = 0; other < order; ++other) {
    if (other != mode) modes.push_back(other);
  }
  modes.push_back(mode);
  return modes;
}

}  // namespace

RivalWork ttm_work(TtmThread thread, std::uint64_t fibers, std::uint64_t nnz, std::size_t columns,
                   std::uint64_t number_bytes) {
  const std::uint64_t made = thread == TtmThread::element ? 1 : columns;  // by a thread
  const std::uint64_t of_fiber = 2 * index_word + made * number_bytes;
  const std::uint64_t of_nonzero = index_word + number_bytes + made * number_bytes;
  const std::uint64_t bytes = columns / made * (fibers * of_fiber + nnz * of_nonzero);
  return {2 * static_cast<double>(nnz) * static_cast<double>(columns), static_cast<double>(bytes)};
}

TtmTree::TtmTree(const RivalTensor& tensor, int mode, Executor& executor) : executor_(&executor) {
  const std::vector<int> modes = modes_over(mode, tensor.order());
  tree_ = build_csf(tensor, modes, sorted_by(tensor, modes, executor), 0, executor);
  for (const std::uint32_t nonzero : tree_.nonzero) values_.push_back(tensor.values[nonzero]);
  tree_.nonzero = {};
}

std::uint64_t TtmTree::index_bytes() const { return csf_words(count_nodes(tree_)) * index_word; }

void TtmTree::multiply(TtmThread thread, std::span<const double> matrix, std::size_t columns,
                       std::span<double> rows) const {
  const std::uint32_t* const leaves = tree_.index.back().data();
  const auto element = [&](std::size_t fiber, std::size_t column) {
    double sum = 0;
    for (std::uint32_t i = ends()[fiber]; i < ends()[fiber + 1]; ++i) {
      sum += values_[i] * matrix[leaves[i] * columns + column];
    }
    rows[fiber * columns + column] = sum;
  };
  const auto whole_fiber = [&](std::size_t fiber) {
    double* const row = rows.data() + fiber * columns;
    std::fill_n(row, columns, 0.0);
    for (std::uint32_t i = ends()[fiber]; i < ends()[fiber + 1]; ++i) {
      const double* const from = matrix.data() + leaves[i] * columns;
      for (std::size_t column = 0; column < columns; ++column) row[column] += values_[i] * from[column];
    }
  };
  const std::size_t parts = parts_of_thread * static_cast<std::size_t>(executor_->width());
  const auto first_of = [&](std::size_t part) {
    return static_cast<std::size_t>(std::ranges::lower_bound(ends(), nnz() * part / parts) - ends().begin());
  };
  executor_->run(parts, [&](std::size_t part) {
    const std::size_t end = first_of(part + 1);
    for (std::size_t fiber = first_of(part); fiber < end; ++fiber) {
      if (thread == TtmThread::fiber) {
        whole_fiber(fiber);
      } else {
        for (std::size_t column = 0; column < columns; ++column) element(fiber, column);
      }
    }
  });
}

}  // namespace blco
