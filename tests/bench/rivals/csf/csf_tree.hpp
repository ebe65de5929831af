// Compressed sparse fibers (Smith and Karypis, 2015): the tree of all formats of the CSF family.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/natural_sort.hpp"

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
  // Trees of build_mm_csf of order 3 and more: child[0] is empty, and node i of level 1 is the only child of root i.
  // Then a slice is several roots in succession.
  bool has_paired_roots() const { return child[0].empty(); }
};

// Most levels of a tree that is walked.
inline constexpr std::size_t max_csf_levels = 8;

// Per level the nodes [begin, end) that have nonzeros in the part; its first and last ones may have nonzeros in other
// parts too.
struct CsfPart {
  std::array<std::uint32_t, max_csf_levels> begin{};
  std::array<std::uint32_t, max_csf_levels> end{};
};

// Modes by ascending length, equal ones by number: the levels of csf_one.
std::vector<int> ascending_modes(std::span<const std::uint64_t> shape);
// The root first, the others by ascending length: the levels of trees that have one root each (csf_all and others).
std::vector<int> modes_under(int root, std::span<const std::uint64_t> shape);

// Nodes of each level that build_csf would make without limit.
std::vector<std::uint64_t> count_csf_nodes(const CoordinateLists& tensor, std::span<const int> modes,
                                           std::span<const std::uint32_t> sorted, Executor& executor);

// Builds the tree of the nonzeros listed in `sorted`, which are sorted by the modes in this order (sorted_by). A
// last-level fiber of more than `fiber_limit` nonzeros becomes several of at most as many (B-CSF; Nisa et al., IPDPS
// 2019, section IV); 0: no limit. Takes a byte per nonzero beside the tree. Requires at least 2 modes.
CsfTree build_csf(const CoordinateLists& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
                  std::uint32_t fiber_limit, Executor& executor);

// Same for a partition of mm_csf (Nisa et al., SC 2019): with paired roots from order 3 on, and a node of level 1 takes
// no further fiber once it has `fiber_limit` nonzeros.
CsfTree build_mm_csf(const CoordinateLists& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
                     std::uint32_t fiber_limit, Executor& executor);

// Roots, of which neighbours with equal coordinates count once.
std::uint64_t count_slices(const CsfTree& tree);
// Nodes of each level, nonzeros last; slices first, also where roots are paired. The S, F and M of the papers.
std::vector<std::uint64_t> count_nodes(const CsfTree& tree);

// At most `parts`, none of them empty. A cut moves to the beginning of its last-level fiber, unless that is more than a
// quarter of a part away: then the fiber is cut.
std::vector<CsfPart> cut_tree(const CsfTree& tree, std::uint64_t parts);

// The node that has a child; `child` as in a CsfTree.
std::uint32_t parent_of(std::span<const std::uint32_t> child, std::uint32_t node);
// Where `parts` even parts of the nonzeros begin, ascending, and the end.
std::vector<std::uint32_t> even_cuts(std::uint64_t nnz, std::uint64_t parts);

}  // namespace blco
