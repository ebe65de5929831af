// Cuts a tree into parts of about equal nonzeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/csf/csf_kernel.hpp"
#include "kernels/csf/csf_tree.hpp"

namespace blco {

// At most `parts`, none of them empty. A cut moves to the beginning of its last-level fiber, unless that is more than a
// quarter of a part away: then the fiber is cut.
std::vector<CsfPart> cut_tree(const CsfTree& tree, std::uint64_t parts);

// The node that has a child; `child` as in a CsfTree.
std::uint32_t parent_of(std::span<const std::uint32_t> child, std::uint32_t node);
// Where `parts` even parts of the nonzeros begin, ascending, and the end.
std::vector<std::uint32_t> even_cuts(std::uint64_t nnz, std::uint64_t parts);

}  // namespace blco
