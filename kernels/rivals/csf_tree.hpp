// Compressed sparse fibers (Smith and Karypis, 2015): the tree of all formats of the CSF family.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/rivals/rival.hpp"

namespace blco {

// Level l holds coordinates of mode modes[l]; a node opens where any coordinate of a level up to l changes. Children of
// a node are neighbours on the next level; on the last level, a node is a nonzero.
struct CsfTree {
  std::vector<int> modes;                         // N, root first, leaf last
  std::vector<std::vector<std::uint32_t>> index;  // per level: coordinate of each node; the last level has M
  std::vector<std::vector<std::uint32_t>> child;  // per level above the last: first child of each node, then the end
  std::vector<std::uint32_t> nonzero;             // number in the tensor of each leaf; not part of the format

  std::size_t order() const { return modes.size(); }
  std::uint64_t nodes(std::size_t level) const { return index[level].size(); }
};

// Builds the tree of the nonzeros listed in `sorted`, which are sorted by the modes in this order (natural_sort.hpp). A
// last-level fiber of more than `fiber_limit` nonzeros becomes several of at most as many (B-CSF; Nisa et al., IPDPS
// 2019, section IV); 0: no limit.
CsfTree build_csf(const RivalTensor& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
                  std::uint32_t fiber_limit = 0);

}  // namespace blco
