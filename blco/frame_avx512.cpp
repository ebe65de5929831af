// Unpacking by two word permutations, prefix sums within and across vectors, exact quotients without divisions.
#include "blco/frame_avx512.hpp"

#include "blco/frame.hpp"

#if defined(__x86_64__)
// GCC 12 takes the undefined vectors in its own header for a mistake (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <array>

#define BLCO_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,bmi2")))

namespace blco {
namespace {

constexpr int lanes = 8;

}  // namespace

bool has_frame_avx512() {
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
  }();
  return has;
}

// Eight fields take `width` bytes. Field j starts in word j * width / 64 of them and may go on in the next.
BLCO_AVX512 void unpack_avx512(const std::byte* packed, int width, int groups, std::uint64_t* values) {
  const auto bits = static_cast<std::uint64_t>(width);
  const std::uint64_t ones = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  alignas(64) std::array<std::uint64_t, lanes> word;
  alignas(64) std::array<std::uint64_t, lanes> shift;
  for (std::uint64_t j = 0; j < lanes; ++j) {
    word[j] = j * bits / 64;
    shift[j] = j * bits % 64;
  }
  const __m512i low_word = _mm512_load_si512(word.data());
  const __m512i high_word = _mm512_add_epi64(low_word, _mm512_set1_epi64(1));
  const __m512i right = _mm512_load_si512(shift.data());
  const __m512i left = _mm512_sub_epi64(_mm512_set1_epi64(64), right);  // a shift by 64 gives zero
  const __m512i mask = _mm512_set1_epi64(static_cast<long long>(ones));
  for (int group = 0; group < groups; ++group, packed += width, values += lanes) {
    const __m512i words = _mm512_maskz_loadu_epi8(ones, packed);
    const __m512i low = _mm512_srlv_epi64(_mm512_permutexvar_epi64(low_word, words), right);
    const __m512i high = _mm512_sllv_epi64(_mm512_permutexvar_epi64(high_word, words), left);
    _mm512_storeu_si512(values, _mm512_and_si512(_mm512_or_si512(low, high), mask));
  }
}

BLCO_AVX512 void scan_avx512(std::uint64_t base, std::uint64_t* values) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i last = _mm512_set1_epi64(lanes - 1);
  __m512i before = _mm512_set1_epi64(static_cast<long long>(base));
  for (int group = 0; group < frame_entries / lanes; ++group, values += lanes) {
    __m512i sums = _mm512_loadu_si512(values);
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 7));
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 6));
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 4));
    _mm512_storeu_si512(values, _mm512_add_epi64(sums, before));
    before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(last, sums));
  }
}

BLCO_AVX512 void add_avx512(std::uint64_t base, std::uint64_t* values) {
  const __m512i bases = _mm512_set1_epi64(static_cast<long long>(base));
  for (int at = 0; at < frame_entries; at += lanes) {
    _mm512_storeu_si512(values + at, _mm512_add_epi64(_mm512_loadu_si512(values + at), bases));
  }
}

// From a quotient within a unit in the last place, one step with the rounded reciprocal gives the rounded quotient
// (Markstein, IBM J. Res. Dev. 34, 1990); the step before brings it there.
BLCO_AVX512 void divide_avx512(const std::uint64_t* integers, double power, double* values) {
  const __m512d divisor = _mm512_set1_pd(power);
  const __m512d reciprocal = _mm512_set1_pd(1 / power);
  for (int at = 0; at < frame_entries; at += lanes) {
    const __m512d dividend = _mm512_cvtepi64_pd(_mm512_loadu_si512(integers + at));
    __m512d quotient = _mm512_mul_pd(dividend, reciprocal);
    for (int step = 0; step < 2; ++step) {
      quotient = _mm512_fmadd_pd(_mm512_fnmadd_pd(quotient, divisor, dividend), reciprocal, quotient);
    }
    _mm512_storeu_pd(values + at, quotient);
  }
}

}  // namespace blco

#else

namespace blco {

bool has_frame_avx512() { return false; }
void unpack_avx512(const std::byte*, int, int, std::uint64_t*) {}
void add_avx512(std::uint64_t, std::uint64_t*) {}
void scan_avx512(std::uint64_t, std::uint64_t*) {}
void divide_avx512(const std::uint64_t*, double, double*) {}

}  // namespace blco

#endif
