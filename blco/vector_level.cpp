// Asks the processor for its vector instructions, once.
#include "blco/vector_level.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>

namespace blco {
namespace {

std::atomic<VectorLevel> limit{VectorLevel::avx512};

#if defined(__x86_64__)
// __builtin_cpu_supports() of Clang 14 does not know it.
bool has_lzcnt() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_LZCNT) != 0;
}

VectorLevel detect() {
  __builtin_cpu_init();
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has_lzcnt();
  if (!has_avx2) return VectorLevel::portable;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq");
  return has_avx512 ? VectorLevel::avx512 : VectorLevel::avx2;
}
#else
VectorLevel detect() { return VectorLevel::portable; }
#endif

}  // namespace

VectorLevel processor_vector_level() {
  static const VectorLevel level = detect();
  return level;
}

VectorLevel vector_level() { return std::min(processor_vector_level(), limit.load(std::memory_order_relaxed)); }

void limit_vector_level(VectorLevel most) { limit.store(most, std::memory_order_relaxed); }

}  // namespace blco
