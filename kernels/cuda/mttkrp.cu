// Which MTTKRP kernel serves an order and a rank; compiled once per precision.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

// The gpu_kernel_ranks are compiled in. Other small ranks use the narrowest group that holds them, so
// that the warp's other lanes process other entries; other large ranks run in blocks of 32 or 64 columns.
template <class Sum, class Factor>
MttkrpKernel<Sum, Factor> mttkrp_kernel_for(int order, int rank, bool stashed, KernelVariant variant) {
  if constexpr (sizeof(Sum) == sizeof(double)) {
    if (rank == 32 && variant == KernelVariant::wide) {
      return kernel_of_common_rank<Sum, Factor, 32, 1, 2>(order, stashed);
    }
    if (rank == 32 && variant == KernelVariant::wide_deep) {
      return kernel_of_common_rank<Sum, Factor, 32, 1, 4>(order, stashed);
    }
  }
  switch (rank) {
    case 8:
      return kernel_of_kind<Sum, Factor, 8, 1, true>(stashed);
    case 16:
      return kernel_of_common_rank<Sum, Factor, 16, 1, 4>(order, stashed);
    case 24:
      return kernel_of_kind<Sum, Factor, 8, 3, true>(stashed);
    case 32:
      return kernel_of_common_rank<Sum, Factor, 16, 2, 2>(order, stashed);
    case 48:
      return kernel_of_kind<Sum, Factor, 16, 3, true>(stashed);
    case 64:
      return kernel_of_common_rank<Sum, Factor, 32, 2, 2>(order, stashed);
    default:
      break;
  }
  if (rank == 1) return kernel_of_kind<Sum, Factor, 1, 1, true>(stashed);
  if (rank == 2) return kernel_of_kind<Sum, Factor, 2, 1, true>(stashed);
  if (rank <= 4) return kernel_of_kind<Sum, Factor, 4, 1, false>(stashed);
  if (rank <= 8) return kernel_of_kind<Sum, Factor, 8, 1, false>(stashed);
  if (rank <= 16) return kernel_of_kind<Sum, Factor, 16, 1, false>(stashed);
  if (rank <= 32) return kernel_of_kind<Sum, Factor, 32, 1, false>(stashed);
  return kernel_of_kind<Sum, Factor, 32, 2, false>(stashed);
}

template MttkrpKernel<BLCO_SUM, BLCO_FACTOR> mttkrp_kernel_for<BLCO_SUM, BLCO_FACTOR>(int, int, bool, KernelVariant);

}  // namespace blco::cuda
