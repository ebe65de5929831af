// The instruction sets that kernels are compiled for: a portable scalar one, AVX2 and AVX-512 on x86, NEON on ARM.
// Included before Highway.
#pragma once

// Those left out have no part in a loop bound by loads; fewer copies keep the build short. SVE has no fixed vector
// size.
#define BLCO_NO_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// A build for a sanitizer may want one vector size only.
#ifdef BLCO_WITHOUT_AVX512
#define HWY_DISABLED_TARGETS (BLCO_NO_TARGETS | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS BLCO_NO_TARGETS
#endif
