// Which TTMc kernel serves matrices of so many columns; compiled once per precision.
#include "kernels/cuda/ttmc.cuh"

namespace blco::cuda {

// Multiples of 8 columns of both are compiled in. Others use the narrowest group that holds the last matrix's columns.
template <class Sum, class Factor>
TtmcKernel<Sum, Factor> ttmc_kernel_for(int middle, int last) {
  if (middle % 8 == 0) {
    if (last % 32 == 0) return ttmc_kernel_of_kind<Sum, Factor, 32, 8, true>();
    if (last % 16 == 0) return ttmc_kernel_of_kind<Sum, Factor, 16, 8, true>();
    if (last % 8 == 0) return ttmc_kernel_of_kind<Sum, Factor, 8, 8, true>();
  }
  if (last == 1) return ttmc_kernel_of_kind<Sum, Factor, 1, 4, false>();
  if (last <= 4) return ttmc_kernel_of_kind<Sum, Factor, 4, 4, false>();
  if (last <= 8) return ttmc_kernel_of_kind<Sum, Factor, 8, 4, false>();
  if (last <= 16) return ttmc_kernel_of_kind<Sum, Factor, 16, 4, false>();
  return ttmc_kernel_of_kind<Sum, Factor, 32, 4, false>();
}

template TtmcKernel<BLCO_SUM, BLCO_FACTOR> ttmc_kernel_for<BLCO_SUM, BLCO_FACTOR>(int, int);

}  // namespace blco::cuda
