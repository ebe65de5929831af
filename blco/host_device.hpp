// Marks functions that nvcc compiles for both host and device.
#pragma once

#if defined(__CUDACC__)
#define BLCO_HOST_DEVICE __host__ __device__
#else
#define BLCO_HOST_DEVICE
#endif
