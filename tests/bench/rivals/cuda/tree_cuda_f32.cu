#include "tests/bench/rivals/cuda/tree_kernel.cuh"

template void blco::cuda::launch_tree<float>(TreeTarget, TreeArguments<float>, cudaStream_t);
