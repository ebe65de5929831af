// The kernels of launch_mttkrp whose machine code check_machine_code.py runs: narrow and wide groups of lanes, ranks
// that are compiled in and others.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template void launch_common<double, 16, 1>(const MttkrpArguments<double>&, const MttkrpShape&, cudaStream_t);
template void launch_common<double, 16, 2>(const MttkrpArguments<double>&, const MttkrpShape&, cudaStream_t);
template void launch_common<double, 32, 2>(const MttkrpArguments<double>&, const MttkrpShape&, cudaStream_t);
template void launch_kind<double, 32, 1, false>(const MttkrpArguments<double>&, const MttkrpShape&, cudaStream_t);
template void launch_kind<double, 32, 2, false>(const MttkrpArguments<double>&, const MttkrpShape&, cudaStream_t);
template void launch_kind<float, 8, 3, true>(const MttkrpArguments<float>&, const MttkrpShape&, cudaStream_t);
template void launch_common<float, 16, 1>(const MttkrpArguments<float>&, const MttkrpShape&, cudaStream_t);
template void launch_common<float, 16, 2>(const MttkrpArguments<float>&, const MttkrpShape&, cudaStream_t);

}  // namespace blco::cuda
