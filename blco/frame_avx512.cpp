// Packing by joining fields, unpacking by two word permutations, prefix sums within and across vectors, exact quotients
// without divisions.
//
// Libraries that pack integers (FastPFor, simdcomp) write layouts of their own, not FORMAT.md's frames. Highway could
// express these loops, but the format is built on the standard library alone, so that a plugin for HDF5 brings nothing
// else along.

#include "blco/frame_loops.hpp"

#if defined(__x86_64__)
// GCC 12 warns about the undefined vectors in its own header (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#define BLCO_AVX512 __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,bmi2")))

namespace blco {
namespace {

constexpr int lanes = 8;

// Joins pairs of `width`-bit fields into fields of twice the width, in place; `count` is a multiple of 16.
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

#define BLCO_AVX512_INLINE BLCO_AVX512 __attribute__((always_inline)) inline

// Eight fields take `width` bytes. Field j starts in their word j * width / 64 and may continue in the next.
struct Fields {
  BLCO_AVX512_INLINE explicit Fields(int width)
      : bytes(low_ones(width)), ones(_mm512_set1_epi64(static_cast<long long>(bytes))) {
    const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i bit = _mm512_mul_epu32(lane, _mm512_set1_epi64(width));
    low_word = _mm512_srli_epi64(bit, 6);
    high_word = _mm512_add_epi64(low_word, _mm512_set1_epi64(1));
    right = _mm512_and_si512(bit, _mm512_set1_epi64(63));
    left = _mm512_sub_epi64(_mm512_set1_epi64(64), right);  // a shift by 64 gives zero
  }

  // Loads only the bytes selected by `from`, and zeros for the others.
  BLCO_AVX512_INLINE __m512i unpack(const std::byte* packed, __mmask64 from) const {
    const __m512i words = _mm512_maskz_loadu_epi8(from, packed);
    const __m512i low = _mm512_srlv_epi64(_mm512_permutexvar_epi64(low_word, words), right);
    const __m512i high = _mm512_sllv_epi64(_mm512_permutexvar_epi64(high_word, words), left);
    return _mm512_and_si512(_mm512_or_si512(low, high), ones);
  }

  __mmask64 bytes;
  __m512i ones, low_word, high_word, right, left;
};

std::uint64_t base_of(const std::byte* frame, FrameShape shape, std::uint64_t base) {
  if (shape.own_base) std::memcpy(&base, frame, sizeof(base));
  return base;
}

// Adds the high bits of the exceptions to entries unpacked at `shape.width` bits.
BLCO_AVX512_INLINE void patch(const std::byte* frame, FrameShape shape, std::uint64_t* entries) {
  const auto* position = reinterpret_cast<const std::uint8_t*>(frame + positions_offset(shape));
  const std::byte* packed = frame + high_offset(shape);
  const Fields fields(shape.high_width);
  const __m128i up = _mm_cvtsi32_si128(shape.width);
  alignas(64) std::uint64_t high[lanes];
  for (int left = shape.exceptions; left > 0; left -= lanes, packed += shape.high_width) {
    const int bytes = left < lanes ? (left * shape.high_width + 7) / 8 : shape.high_width;
    _mm512_store_si512(high, _mm512_sll_epi64(fields.unpack(packed, low_ones(bytes)), up));
    for (int e = 0; e < std::min(left, lanes); ++e) entries[*position++] |= high[e];
  }
}

// Turn a frame's entries into values, eight at a time: Sums for plain frames, RunningSums for differences.
struct Sums {
  BLCO_AVX512_INLINE explicit Sums(std::uint64_t base) : bases(_mm512_set1_epi64(static_cast<long long>(base))) {}
  BLCO_AVX512_INLINE void put(__m512i entries, std::uint64_t* values) {
    _mm512_storeu_si512(values, _mm512_add_epi64(entries, bases));
  }
  __m512i bases;
};

struct RunningSums {
  BLCO_AVX512_INLINE explicit RunningSums(std::uint64_t base)
      : before(_mm512_set1_epi64(static_cast<long long>(base))) {}
  BLCO_AVX512_INLINE void put(__m512i entries, std::uint64_t* values) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums = _mm512_add_epi64(entries, _mm512_alignr_epi64(entries, zero, 7));
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 6));
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 4));
    _mm512_storeu_si512(values, _mm512_add_epi64(sums, before));
    before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(_mm512_set1_epi64(lanes - 1), sums));
  }
  __m512i before;
};

struct Integers {
  BLCO_AVX512_INLINE explicit Integers(std::uint64_t base) : bases(_mm512_set1_epi64(static_cast<long long>(base))) {}
  BLCO_AVX512_INLINE void put(__m512i entries, double* values) {
    _mm512_storeu_pd(values, _mm512_cvtepi64_pd(_mm512_add_epi64(entries, bases)));
  }
  __m512i bases;
};

// From a quotient within one unit in the last place, one step with the rounded reciprocal gives the correctly rounded
// quotient (Markstein, IBM J. Res. Dev. 34, 1990); the step before it gets that close.
struct Quotients {
  BLCO_AVX512_INLINE Quotients(std::uint64_t base, double power)
      : bases(_mm512_set1_epi64(static_cast<long long>(base))),
        divisor(_mm512_set1_pd(power)),
        reciprocal(_mm512_set1_pd(1 / power)) {}
  BLCO_AVX512_INLINE void put(__m512i entries, double* values) {
    const __m512d dividend = _mm512_cvtepi64_pd(_mm512_add_epi64(entries, bases));
    __m512d quotient = _mm512_mul_pd(dividend, reciprocal);
    for (int step = 0; step < 2; ++step) {
      quotient = _mm512_fmadd_pd(_mm512_fnmadd_pd(quotient, divisor, dividend), reciprocal, quotient);
    }
    _mm512_storeu_pd(values, quotient);
  }
  __m512i bases;
  __m512d divisor, reciprocal;
};

template <class Result, class Value>
BLCO_AVX512_INLINE void decode(const std::byte* frame, FrameShape shape, Result result, Value* values) {
  const Fields fields(shape.width);
  const std::byte* packed = frame + packed_offset(shape);
  if (shape.exceptions == 0) {
    for (int at = 0; at < frame_entries; at += lanes, packed += shape.width) {
      result.put(fields.unpack(packed, fields.bytes), values + at);
    }
    return;
  }
  alignas(64) std::uint64_t entries[frame_entries];
  for (int at = 0; at < frame_entries; at += lanes, packed += shape.width) {
    _mm512_store_si512(entries + at, fields.unpack(packed, fields.bytes));
  }
  patch(frame, shape, entries);
  for (int at = 0; at < frame_entries; at += lanes) result.put(_mm512_load_si512(entries + at), values + at);
}

}  // namespace

// Joins fields until they have more than 32 bits. Eight of them then take `width` bytes, and each word of these has
// bits of at most three fields.
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
      // A shift by 64 or more gives zero; there is no field after the last.
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

BLCO_AVX512 void decode_frame_avx512(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                                     std::uint64_t* values) {
  base = base_of(frame, shape, base);
  if (coding == FrameCoding::plain) {
    decode(frame, shape, Sums(base), values);
  } else {
    decode(frame, shape, RunningSums(base), values);
  }
}

BLCO_AVX512 void decode_quotients_avx512(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                                         double* values) {
  base = base_of(frame, shape, base);
  if (power == 1) {
    decode(frame, shape, Integers(base), values);
  } else {
    decode(frame, shape, Quotients(base, power), values);
  }
}

}  // namespace blco

#else

namespace blco {

void pack_avx512(const std::uint64_t*, int, std::byte*) {}
void bit_widths_avx512(const std::uint64_t*, std::uint8_t*) {}
void decode_frame_avx512(const std::byte*, FrameShape, FrameCoding, std::uint64_t, std::uint64_t*) {}
void decode_quotients_avx512(const std::byte*, FrameShape, std::uint64_t, double, double*) {}

}  // namespace blco

#endif
