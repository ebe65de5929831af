// The kernels whose machine code check_machine_code.py runs: narrow and wide groups of lanes, ranks that are compiled
// in and others.
#include "kernels/cuda/loss_pass.cuh"
#include "kernels/cuda/mttkrp.cuh"
#include "kernels/cuda/ttmc.cuh"

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

template TtmcKernel<double, double> ttmc_kernel_of_kind<double, double, 8, 8, true>();
template TtmcKernel<double, double> ttmc_kernel_of_kind<double, double, 16, 8, true>();
template TtmcKernel<double, double> ttmc_kernel_of_kind<double, double, 16, 4, false>();
template TtmcKernel<float, float> ttmc_kernel_of_kind<float, float, 4, 4, false>();

template LossKernel<double, double> loss_kernel_of_common_rank<double, double, 16, 1, 4>(int);
template LossKernel<double, double> loss_kernel_of_common_rank<double, double, 16, 2, 2>(int);
template LossKernel<double, double> loss_kernel_of_kind<double, double, 32, 1>(bool);
template LossKernel<float, float> loss_kernel_of_kind<float, float, 8, 1>(bool);
template __global__ void loss_kernel<double, double, KernelShape<32, 2, true, false, 3, 2>>(
    const __grid_constant__ LossArguments<double, double>);
template __global__ void loss_kernel<float, float, KernelShape<16, 1, true, false, 3, 4>>(
    const __grid_constant__ LossArguments<float, float>);
template __global__ void loss_kernel<double, float, KernelShape<16, 1, true, false, 4, 4>>(
    const __grid_constant__ LossArguments<double, float>);

}  // namespace blco::cuda
