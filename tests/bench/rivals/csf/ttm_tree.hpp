// The product of a tensor with one matrix (TTM) on CSF trees, in the two variants of Borralho's thesis (IST Lisboa,
// 2023): the same tree, the work cut otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// What a thread computes: one element of the output, or those of a whole fiber. On the CPU such a thread is a turn of a
// loop.
enum class TtmThread { element, fiber };

// As the thesis counts: a thread reads where its fiber begins and ends, of each nonzero index, value and what it
// multiplies, and writes its elements once. Indices have 4 bytes.
RivalWork ttm_work(TtmThread thread, std::uint64_t fibers, std::uint64_t nnz, std::size_t columns,
                   std::uint64_t number_bytes);

// A tree whose leaves are of one mode; the levels above are the other modes in order.
class TtmTree {
 public:
  // Copies what it needs; `executor` must outlive it. Requires at least 2 modes and fewer than 2^32 nonzeros.
  TtmTree(const RivalTensor& tensor, int mode, Executor& executor);

  std::uint64_t fibers() const { return ends().size() - 1; }
  std::uint64_t nnz() const { return values_.size(); }
  std::uint64_t index_bytes() const;
  // rows = the sum over each fiber's nonzeros of value * A[i_mode, :], for a matrix of I_mode x `columns`, row-major.
  // Fibers come in lexicographic order of the other modes.
  void multiply(TtmThread thread, std::span<const double> matrix, std::size_t columns, std::span<double> rows) const;

 private:
  // Where the fibers begin among the leaves, and the end.
  const std::vector<std::uint32_t>& ends() const { return tree_.child.back(); }

  CsfTree tree_;  // without the numbers of the nonzeros
  std::vector<double> values_;
  Executor* executor_;
};

}  // namespace blco
