#include "tests/bench/rivals/cuda/tree_kernel.cuh"

template void blco::cuda::launch_tree<double>(TreeTarget, TreeArguments<double>, cudaStream_t);
