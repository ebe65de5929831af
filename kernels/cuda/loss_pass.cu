// Which kernel of the loss pass serves an order and a rank; compiled once per precision.
#include "kernels/cuda/loss_pass.cuh"

namespace blco::cuda {

// Ranks 16, 32 and 64 are compiled in for orders 3 to 5. Others use the narrowest group of lanes that holds the rank;
// large ranks run in blocks of 64 columns.
template <class Sum, class Factor>
LossKernel<Sum, Factor> loss_kernel_for(int order, int rank, bool stashed) {
  if (!stashed) {
    LossKernel<Sum, Factor> of_order = nullptr;
    if (rank == 16) of_order = loss_kernel_of_common_rank<Sum, Factor, 16, 1, 4>(order);
    if (rank == 32) of_order = loss_kernel_of_common_rank<Sum, Factor, 16, 2, 2>(order);
    if (rank == 64) of_order = loss_kernel_of_common_rank<Sum, Factor, 32, 2, 2>(order);
    if (of_order != nullptr) return of_order;
  }
  if (rank <= 4) return loss_kernel_of_kind<Sum, Factor, 4, 1>(stashed);
  if (rank <= 8) return loss_kernel_of_kind<Sum, Factor, 8, 1>(stashed);
  if (rank <= 16) return loss_kernel_of_kind<Sum, Factor, 16, 1>(stashed);
  if (rank <= 32) return loss_kernel_of_kind<Sum, Factor, 32, 1>(stashed);
  return loss_kernel_of_kind<Sum, Factor, 32, 2>(stashed);
}

template LossKernel<BLCO_SUM, BLCO_FACTOR> loss_kernel_for<BLCO_SUM, BLCO_FACTOR>(int, int, bool);

}  // namespace blco::cuda
