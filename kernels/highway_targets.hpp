// The instruction sets that kernels are compiled for: portable scalar, AVX2 and AVX-512 on x86, NEON on ARM. Include
// before Highway.
#pragma once

// The disabled targets would not speed up loops bound by loads, and fewer copies keep the build short. SVE has no fixed
// vector size.
#define BLCO_NO_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// Whether loops are compiled for every width and order. Without vectors that would take most of the build, for the
// oldest processors. A short sanitizer run leaves out AVX-512 too.
#ifdef BLCO_FEW_LOOPS
#define BLCO_UNROLLS_ALL false
#define HWY_DISABLED_TARGETS (BLCO_NO_TARGETS | HWY_AVX3)
#else
#define BLCO_UNROLLS_ALL (HWY_TARGET != HWY_SCALAR)
#define HWY_DISABLED_TARGETS BLCO_NO_TARGETS
#endif
