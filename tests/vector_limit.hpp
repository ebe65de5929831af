// Limits the vector instructions of all loops, those of blco/ and those that Highway chooses, so that one machine tests
// and measures what others run. A test file includes this after the headers of kernels/.
#pragma once

#include <cstdint>

#include "blco/vector_level.hpp"
#include "kernels/highway_targets.hpp"
// After the limits on targets:
#include <hwy/targets.h>

namespace blco {

// From now on, in the whole process. At portable, Highway's loops are scalar on x86, and what they always are
// elsewhere.
inline void limit_vectors(VectorLevel most) {
  limit_vector_level(most);
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t targets = hwy::SupportedTargets();
#if HWY_ARCH_X86
  if (most < VectorLevel::avx512) targets &= ~std::int64_t{HWY_AVX3 | HWY_AVX3_DL};
#endif
  if (most == VectorLevel::portable) targets = HWY_STATIC_TARGET;
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace blco
