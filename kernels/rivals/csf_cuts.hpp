// Cuts trees and lists into parts of about equal nonzeros, which threads take one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/rivals/csf_kernel.hpp"
#include "kernels/rivals/csf_tree.hpp"
#include "kernels/rivals/hb_parts.hpp"

namespace blco {

// At most `parts`, none of them empty. A cut moves to the beginning of its last-level fiber, unless that is more than a
// quarter of a part away: then the fiber is cut.
std::vector<CsfPart> cut_tree(const CsfTree& tree, std::uint64_t parts);
// Same for a list, between any two nonzeros.
std::vector<CsfPart> cut_list(const SliceList& list, std::uint64_t parts);

}  // namespace blco
