// The kernels whose machine code check_machine_code.py runs: narrow and wide groups of lanes, ranks that are compiled
// in and others.
#include "kernels/cuda/loss_pass.cuh"
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template MttkrpKernel<double, double> kernel_of_common_rank<double, double, 16, 1, 4>(int, bool);
template MttkrpKernel<double, double> kernel_of_common_rank<double, double, 16, 2, 2>(int, bool);
template MttkrpKernel<double, double> kernel_of_common_rank<double, double, 32, 1, 2>(int, bool);
template MttkrpKernel<double, double> kernel_of_common_rank<double, double, 32, 1, 4>(int, bool);
template MttkrpKernel<double, double> kernel_of_common_rank<double, double, 32, 2, 2>(int, bool);
template MttkrpKernel<double, double> kernel_of_kind<double, double, 32, 1, false>(bool);
template MttkrpKernel<double, double> kernel_of_kind<double, double, 32, 2, false>(bool);
template MttkrpKernel<double, float> kernel_of_common_rank<double, float, 16, 1, 4>(int, bool);
template MttkrpKernel<double, float> kernel_of_common_rank<double, float, 16, 2, 2>(int, bool);
template MttkrpKernel<float, float> kernel_of_kind<float, float, 8, 3, true>(bool);
template MttkrpKernel<float, float> kernel_of_common_rank<float, float, 16, 1, 4>(int, bool);
template MttkrpKernel<float, float> kernel_of_common_rank<float, float, 16, 2, 2>(int, bool);

template LossKernel<double, double> loss_kernel_of_kind<double, double, 16, 1>(bool);
template LossKernel<double, double> loss_kernel_of_kind<double, double, 32, 1>(bool);
template LossKernel<float, float> loss_kernel_of_kind<float, float, 8, 1>(bool);

}  // namespace blco::cuda
