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

#include <algorithm>
#include <array>

#define BLCO_AVX512 __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,bmi2")))

namespace blco {
namespace {

constexpr int lanes = 8;

// Fields of `width` bits become half as many of twice the width, in their place; `count` is a multiple of 16.
BLCO_AVX512 void join_pairs(std::uint64_t* fields, std::size_t count, int width) {
  const auto shift = static_cast<long long>(width);
  const __m512i odd_shift = _mm512_set_epi64(shift, 0, shift, 0, shift, 0, shift, 0);
  const __m512i even_lanes = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd_lanes = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    const __m512i first = _mm512_sllv_epi64(_mm512_loadu_si512(fields + i), odd_shift);
    const __m512i second = _mm512_sllv_epi64(_mm512_loadu_si512(fields + i + lanes), odd_shift);
    const __m512i even = _mm512_permutex2var_epi64(first, even_lanes, second);
    const __m512i odd = _mm512_permutex2var_epi64(first, odd_lanes, second);
    _mm512_storeu_si512(fields + i / 2, _mm512_or_si512(even, odd));
  }
}

}  // namespace

bool has_frame_avx512() {
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
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

// Fields are joined until they have more than 32 bits. Eight of them then take `width` bytes, and a word of these has
// bits of three fields at most.
BLCO_AVX512 void pack_avx512(const std::uint64_t* entries, int width, std::byte* packed) {
  alignas(64) std::array<std::uint64_t, frame_entries> fields;
  const __m512i mask = _mm512_set1_epi64(width == 64 ? -1 : static_cast<long long>((std::uint64_t{1} << width) - 1));
  for (std::size_t i = 0; i < fields.size(); i += lanes) {
    _mm512_store_si512(&fields[i], _mm512_and_si512(_mm512_loadu_si512(entries + i), mask));
  }
  std::size_t count = fields.size();
  for (; width <= 32 && count > lanes; width *= 2, count /= 2) join_pairs(fields.data(), count, width);
  const auto bits = static_cast<std::uint64_t>(width);
  std::array<std::array<std::uint64_t, lanes>, 3> field;
  std::array<std::array<std::uint64_t, lanes>, 3> shift;
  for (std::uint64_t word = 0; word < lanes; ++word) {
    const std::uint64_t first = 64 * word / bits;
    for (std::uint64_t j = 0; j < 3; ++j) {
      // A shift by 64 or more gives zero; past the last field there is none.
      const std::uint64_t up = (first + j) * bits - 64 * word;
      field[j][word] = first + j;
      shift[j][word] = j == 0 ? 64 * word - first * bits : first + j < lanes ? up : 64;
    }
  }
  const __m512i fields_of[] = {_mm512_loadu_si512(field[0].data()), _mm512_loadu_si512(field[1].data()),
                               _mm512_loadu_si512(field[2].data())};
  const __m512i shifts[] = {_mm512_loadu_si512(shift[0].data()), _mm512_loadu_si512(shift[1].data()),
                            _mm512_loadu_si512(shift[2].data())};
  const __mmask64 bytes = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  for (std::size_t i = 0; i < count; i += lanes, packed += width) {
    const __m512i group = _mm512_load_si512(&fields[i]);
    __m512i words = _mm512_srlv_epi64(_mm512_permutexvar_epi64(fields_of[0], group), shifts[0]);
    words = _mm512_or_si512(words, _mm512_sllv_epi64(_mm512_permutexvar_epi64(fields_of[1], group), shifts[1]));
    words = _mm512_or_si512(words, _mm512_sllv_epi64(_mm512_permutexvar_epi64(fields_of[2], group), shifts[2]));
    _mm512_mask_storeu_epi8(packed, bytes, words);
  }
}

BLCO_AVX512 void bit_widths_avx512(const std::uint64_t* entries, std::uint8_t* widths) {
  const __m512i bits = _mm512_set1_epi64(64);
  for (int at = 0; at < frame_entries; at += lanes) {
    const __m512i zeros = _mm512_lzcnt_epi64(_mm512_loadu_si512(entries + at));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(widths + at), _mm512_cvtepi64_epi8(_mm512_sub_epi64(bits, zeros)));
  }
}

BLCO_AVX512 void widen_range_avx512(const std::uint64_t* numbers, std::size_t count, std::uint64_t mask,
                                    std::uint64_t& least, std::uint64_t& largest) {
  const __m512i masks = _mm512_set1_epi64(static_cast<long long>(mask));
  __m512i low = _mm512_set1_epi64(static_cast<long long>(least));
  __m512i high = _mm512_set1_epi64(static_cast<long long>(largest));
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const __m512i masked = _mm512_and_si512(_mm512_loadu_si512(numbers + i), masks);
    low = _mm512_min_epu64(low, masked);
    high = _mm512_max_epu64(high, masked);
  }
  least = _mm512_reduce_min_epu64(low);
  largest = _mm512_reduce_max_epu64(high);
  for (; i < count; ++i) {
    least = std::min(least, numbers[i] & mask);
    largest = std::max(largest, numbers[i] & mask);
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
void pack_avx512(const std::uint64_t*, int, std::byte*) {}
void bit_widths_avx512(const std::uint64_t*, std::uint8_t*) {}
void widen_range_avx512(const std::uint64_t*, std::size_t, std::uint64_t, std::uint64_t&, std::uint64_t&) {}
void add_avx512(std::uint64_t, std::uint64_t*) {}
void scan_avx512(std::uint64_t, std::uint64_t*) {}
void divide_avx512(const std::uint64_t*, double, double*) {}

}  // namespace blco

#endif
