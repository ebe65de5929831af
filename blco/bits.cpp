// Chooses at run time between BMI2 and the portable bit extract and deposit.
#include "blco/bits.hpp"

#include "blco/vector_level.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace blco {

#if defined(__x86_64__)
namespace {

bool detect_fast_pext() {
  __builtin_cpu_init();
  const bool microcoded = __builtin_cpu_is("bdver4") || __builtin_cpu_is("znver1") || __builtin_cpu_is("znver2");
  return __builtin_cpu_supports("bmi2") && !microcoded;
}

bool processor_has_fast_pext() {
  static const bool fast = detect_fast_pext();
  return fast;
}

__attribute__((target("bmi2"))) std::uint64_t pext_bmi2(std::uint64_t value, std::uint64_t mask) {
  return _pext_u64(value, mask);
}

__attribute__((target("bmi2"))) void pext_each_bmi2(const std::uint64_t* words, std::size_t count, std::uint64_t mask,
                                                    std::uint64_t* results) {
  for (std::size_t i = 0; i < count; ++i) results[i] = _pext_u64(words[i], mask);
}

__attribute__((target("bmi2"))) std::uint64_t pdep_bmi2(std::uint64_t value, std::uint64_t mask) {
  return _pdep_u64(value, mask);
}

}  // namespace

bool has_fast_pext() { return vector_level() != VectorLevel::portable && processor_has_fast_pext(); }

std::uint64_t pext(std::uint64_t value, std::uint64_t mask) {
  return processor_has_fast_pext() ? pext_bmi2(value, mask) : pext_portable(value, mask);
}

std::uint64_t pdep(std::uint64_t value, std::uint64_t mask) {
  return processor_has_fast_pext() ? pdep_bmi2(value, mask) : pdep_portable(value, mask);
}

void pext_each(const std::uint64_t* words, std::size_t count, std::uint64_t mask, std::uint64_t* results) {
  if (processor_has_fast_pext()) return pext_each_bmi2(words, count, mask, results);
  for (std::size_t i = 0; i < count; ++i) results[i] = pext_portable(words[i], mask);
}
#else
void pext_each(const std::uint64_t* words, std::size_t count, std::uint64_t mask, std::uint64_t* results) {
  for (std::size_t i = 0; i < count; ++i) results[i] = pext_portable(words[i], mask);
}
bool has_fast_pext() { return false; }
std::uint64_t pext(std::uint64_t value, std::uint64_t mask) { return pext_portable(value, mask); }
std::uint64_t pdep(std::uint64_t value, std::uint64_t mask) { return pdep_portable(value, mask); }
#endif

}  // namespace blco
