// MTTKRP over slices whose nonzeros have no fibers (CSL).
#pragma once

#include "tests/bench/rivals/csf/csf_kernel.hpp"

namespace blco {

// out[i] += value * product of the other rows, over the nonzeros of each slice i. Locks as those of mttkrp_csf.
void mttkrp_slices(const CsfTask<double>& task, const CsfPart& part);
void mttkrp_slices(const CsfTask<float>& task, const CsfPart& part);

}  // namespace blco
