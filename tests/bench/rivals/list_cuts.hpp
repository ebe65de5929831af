// Cuts lists of slices into parts of about equal nonzeros.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/rivals/csf/csf_kernel.hpp"
#include "tests/bench/rivals/csf/hb_parts.hpp"

namespace blco {

// At most `parts`, none of them empty; a cut lies between any two nonzeros.
std::vector<CsfPart> cut_list(const SliceList& list, std::uint64_t parts);

}  // namespace blco
