// Marks functions that nvcc compiles for both host and device.
#pragma once

#if defined(__CUDACC__)
#define BLCO_HOST_DEVICE __host__ __device__
// Before a function that calls what it is given: host code on the host, device code on the device.
#define BLCO_DEVICE_VISITS _Pragma("nv_exec_check_disable")
#else
#define BLCO_HOST_DEVICE
#define BLCO_DEVICE_VISITS
#endif
