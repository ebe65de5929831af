// The arguments of one launch of a loss pass: MTTKRP's, the function of an entry, an output per mode, and sums of
// terms.
#pragma once

#include "kernels/cuda/mttkrp.hpp"
#include "kernels/pass_request.hpp"

namespace blco::cuda {

// The stash is that of the only output; with several or none, conflict resolution is register-based.
template <class Sum, class Factor>
struct LossArguments : FrameArguments<Factor>, StashedRows {
  EntryFunction function = {};
  ModeSet outputs = 0;
  OutputCopies<Sum> output[max_order] = {};  // per mode; of `outputs` only
  double* terms = nullptr;  // a sum for each warp of the grid, to which it adds; launches that overlap have their own
};

BLCO_HOST_DEVICE constexpr bool has_several(ModeSet modes) { return (modes & (modes - 1)) != 0; }

BLCO_HOST_DEVICE constexpr int first_mode(ModeSet modes) {
  int mode = 0;
  while (modes != 0 && !has_mode(modes, mode)) ++mode;
  return mode;
}

template <class Sum, class Factor>
using LossKernel = void (*)(LossArguments<Sum, Factor>);

// term, weight = the entry function of the entry and the model's value; sum of terms += scale * term, and output_n[i_n]
// += scale * weight * prod_{m != n} A_m[i_m] for each mode n of `outputs`, over the chunks. `stashed`: hierarchical
// conflict resolution, of exactly one output.
template <class Sum, class Factor>
LossKernel<Sum, Factor> loss_kernel_for(int order, int rank, bool stashed);

}  // namespace blco::cuda
