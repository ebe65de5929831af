// The arguments of one launch of a TTMc: MTTKRP's, and the columns of each mode's matrix.
#pragma once

#include "kernels/cuda/mttkrp.hpp"

namespace blco::cuda {

// Factors are row-major I_n x columns[n]; `rank` is the most of these. The output is row-major I_mode x row_numbers.
template <class Sum, class Factor>
struct TtmcArguments : MttkrpArguments<Sum, Factor> {
  int columns[max_order] = {};
  std::uint64_t row_numbers = 0;  // the product of the other modes' columns
};

template <class Sum, class Factor>
using TtmcKernel = void (*)(TtmcArguments<Sum, Factor>);

// output[i_mode] += value * the Kronecker product of the rows A_m[i_m] of all other modes, over the chunks: the columns
// of the last of these vary fastest. Of three modes or more. `last`: the columns of the last other mode; `middle`: of
// the one before it.
template <class Sum, class Factor>
TtmcKernel<Sum, Factor> ttmc_kernel_for(int middle, int last);

}  // namespace blco::cuda
