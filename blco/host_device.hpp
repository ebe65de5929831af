// Marks functions that both the host compiler and nvcc compile, for both sides.
#pragma once

#if defined(__CUDACC__)
#define BLCO_HOST_DEVICE __host__ __device__
#else
#define BLCO_HOST_DEVICE
#endif
