// Trees of the CSF family for tests, and the nonzeros that a tree holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/bench/rivals/natural_sort.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"
#include "tests/bench/rivals/natural_cases.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {

inline CsfTree tree_of(const NaturalTensor& tensor, const std::vector<int>& modes, std::uint32_t fiber_limit = 0,
                       int threads = 1) {
  ThreadExecutor executor(threads);
  return build_csf(tensor.view(), modes, sorted_by(tensor.view(), modes, executor), fiber_limit, executor);
}

inline CsfTree mm_tree_of(const NaturalTensor& tensor, const std::vector<int>& modes, std::uint32_t fiber_limit = 0,
                          int threads = 1) {
  ThreadExecutor executor(threads);
  return build_mm_csf(tensor.view(), modes, sorted_by(tensor.view(), modes, executor), fiber_limit, executor);
}

// The node of `level` above a leaf, by a walk over the children of all nodes.
inline std::uint32_t ancestor(const CsfTree& tree, std::size_t level, std::uint32_t leaf) {
  std::uint32_t node = leaf;
  for (std::size_t at = tree.order() - 1; at-- > level;) {
    if (tree.child[at].empty()) continue;  // paired roots
    std::uint32_t parent = 0;
    while (tree.child[at][parent + 1] <= node) ++parent;
    node = parent;
  }
  return node;
}

// Nonzeros below each node of a level.
inline std::vector<std::uint32_t> nonzeros_below(const CsfTree& tree, std::size_t level) {
  std::vector<std::uint32_t> counts(tree.nodes(level));
  for (std::uint32_t leaf = 0; leaf < tree.nodes(tree.order() - 1); ++leaf) ++counts[ancestor(tree, level, leaf)];
  return counts;
}

// True if the path to every leaf has the coordinates of its nonzero, and the nonzeros are those of the tensor.
inline bool holds_tensor(const CsfTree& tree, const NaturalTensor& tensor) {
  std::vector<std::uint32_t> numbers = tree.nonzero;
  std::ranges::sort(numbers);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != i) return false;
  }
  for (std::uint32_t leaf = 0; leaf < tree.nonzero.size(); ++leaf) {
    for (std::size_t level = 0; level < tree.order(); ++level) {
      const auto& coordinates = tensor.coordinates[static_cast<std::size_t>(tree.modes[level])];
      if (tree.index[level][ancestor(tree, level, leaf)] != coordinates[tree.nonzero[leaf]]) return false;
    }
  }
  return tree.nonzero.size() == tensor.coo.nnz();
}

}  // namespace blco::testing
