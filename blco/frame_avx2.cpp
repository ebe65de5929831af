// Unpacking by shifts of broadcast or shuffled bytes, prefix sums within and across vectors, exact quotients without
// divisions: what frame_avx512.cpp does, for processors without AVX-512.

#include "blco/frame_loops.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstring>

#define BLCO_AVX2 __attribute__((target("avx2,bmi2,fma,lzcnt")))
#define BLCO_AVX2_INLINE BLCO_AVX2 __attribute__((always_inline)) inline

namespace blco {
namespace {

// Eight neighbours.
struct Group {
  __m256i first, second;
};

// Eight entries take `width` bytes, so that of every eight the last four begin at byte width / 2 and, of an odd width,
// at its fifth bit. At the end of a frame, unpack() reads up to 8 bytes more, which are there to be read.

BLCO_AVX2_INLINE __m256i masked(__m256i words, __m256i shift, int width) {
  return _mm256_and_si256(_mm256_srlv_epi64(words, shift), _mm256_set1_epi64x(static_cast<long long>(low_ones(width))));
}

BLCO_AVX2_INLINE __m256i times(__m256i numbers, int width) {
  return _mm256_mul_epu32(numbers, _mm256_set1_epi64x(width));
}

BLCO_AVX2_INLINE __m256i within_byte(__m256i bit) { return _mm256_and_si256(bit, _mm256_set1_epi64x(7)); }

// For shuffles within 16 bytes: of each lane, the eight bytes from that of `bit` on. Behind the sixteenth comes the
// first again, whose bits are masked off.
BLCO_AVX2_INLINE __m256i bytes_from(__m256i bit) {
  const __m256i own_lane = _mm256_set_epi64x(0x0808080808080808, 0, 0x0808080808080808, 0);
  const __m256i bytes = _mm256_set1_epi64x(0x0706050403020100);
  return _mm256_add_epi8(_mm256_shuffle_epi8(_mm256_srli_epi64(bit, 3), own_lane), bytes);
}

BLCO_AVX2_INLINE __m128i load_half(const std::byte* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// Widths up to 16: one word has four fields.
struct WordFields {
  static constexpr int widest = 16;
  BLCO_AVX2_INLINE explicit WordFields(int bits) : width(bits) {
    const __m256i bit = times(_mm256_set_epi64x(3, 2, 1, 0), bits);
    shift = {bit, _mm256_add_epi64(bit, _mm256_set1_epi64x(4 * bits % 8))};
  }
  BLCO_AVX2_INLINE Group unpack(const std::byte* packed) const {
    return {masked(load(packed), shift.first, width), masked(load(packed + width / 2), shift.second, width)};
  }
  BLCO_AVX2_INLINE static __m256i load(const std::byte* bytes) {
    long long word;
    std::memcpy(&word, bytes, sizeof(word));
    return _mm256_set1_epi64x(word);
  }
  int width;
  Group shift;
};

// Widths 16 to 32: sixteen bytes have four fields.
struct QuadFields {
  static constexpr int widest = 32;
  BLCO_AVX2_INLINE explicit QuadFields(int bits) : width(bits) {
    const __m256i bit = times(_mm256_set_epi64x(3, 2, 1, 0), bits);
    const __m256i second_bit = _mm256_add_epi64(bit, _mm256_set1_epi64x(4 * bits % 8));
    order = {bytes_from(bit), bytes_from(second_bit)};
    shift = {within_byte(bit), within_byte(second_bit)};
  }
  BLCO_AVX2_INLINE Group unpack(const std::byte* packed) const {
    const __m256i first = _mm256_broadcastsi128_si256(load_half(packed));
    const __m256i second = _mm256_broadcastsi128_si256(load_half(packed + width / 2));
    return {masked(_mm256_shuffle_epi8(first, order.first), shift.first, width),
            masked(_mm256_shuffle_epi8(second, order.second), shift.second, width)};
  }
  int width;
  Group order, shift;
};

// Widths 29 to 57: sixteen bytes have two fields.
struct PairFields {
  static constexpr int widest = 57;
  BLCO_AVX2_INLINE explicit PairFields(int bits) : width(bits) {
    const __m256i odd = _mm256_set_epi64x(bits, 0, bits, 0);
    const __m256i bit = _mm256_add_epi64(within_byte(times(_mm256_set_epi64x(2, 2, 0, 0), bits)), odd);
    const __m256i second_bit = _mm256_add_epi64(within_byte(times(_mm256_set_epi64x(6, 6, 4, 4), bits)), odd);
    order = {bytes_from(bit), bytes_from(second_bit)};
    shift = {within_byte(bit), within_byte(second_bit)};
  }
  BLCO_AVX2_INLINE Group unpack(const std::byte* packed) const {
    const __m256i first = load_pairs(packed, packed + 2 * width / 8);
    const __m256i second = load_pairs(packed + 4 * width / 8, packed + 6 * width / 8);
    return {masked(_mm256_shuffle_epi8(first, order.first), shift.first, width),
            masked(_mm256_shuffle_epi8(second, order.second), shift.second, width)};
  }
  BLCO_AVX2_INLINE static __m256i load_pairs(const std::byte* low, const std::byte* high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(low)), load_half(high), 1);
  }
  int width;
  Group order, shift;
};

BLCO_AVX2_INLINE __m256i load(const std::uint64_t* words) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
}
BLCO_AVX2_INLINE void store(__m256i vector, std::uint64_t* words) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), vector);
}
BLCO_AVX2_INLINE __m256i every_lane(std::uint64_t word) { return _mm256_set1_epi64x(static_cast<long long>(word)); }

// Turn a frame's entries into values, eight at a time: Entries leaves them as they are, Sums is for plain frames,
// RunningSums for differences.
struct Entries {
  BLCO_AVX2_INLINE void put(Group entries, std::uint64_t* values) {
    store(entries.first, values);
    store(entries.second, values + 4);
  }
};

struct Sums {
  BLCO_AVX2_INLINE explicit Sums(std::uint64_t base) : bases(every_lane(base)) {}
  BLCO_AVX2_INLINE void put(Group entries, std::uint64_t* values) {
    store(_mm256_add_epi64(entries.first, bases), values);
    store(_mm256_add_epi64(entries.second, bases), values + 4);
  }
  __m256i bases;
};

struct RunningSums {
  BLCO_AVX2_INLINE explicit RunningSums(std::uint64_t base) : before(every_lane(base)) {}
  BLCO_AVX2_INLINE static __m256i sums_of(__m256i entries) {
    const __m256i pairs = _mm256_add_epi64(entries, _mm256_slli_si256(entries, 8));
    const __m256i low_pair = _mm256_permute2x128_si256(pairs, pairs, 0x08);  // in the high half, below it zeros
    return _mm256_add_epi64(pairs, _mm256_unpackhi_epi64(low_pair, low_pair));
  }
  BLCO_AVX2_INLINE static __m256i last_lane(__m256i sums) { return _mm256_permute4x64_epi64(sums, 0xff); }
  BLCO_AVX2_INLINE void put(Group entries, std::uint64_t* values) {
    const __m256i first = sums_of(entries.first);
    const __m256i second = sums_of(entries.second);
    const __m256i first_sum = last_lane(first);
    store(_mm256_add_epi64(first, before), values);
    store(_mm256_add_epi64(_mm256_add_epi64(second, first_sum), before), values + 4);
    before = _mm256_add_epi64(before, _mm256_add_epi64(first_sum, last_lane(second)));
  }
  __m256i before;
};

// Integers below 2^51: added to the bits of 1.5 * 2^52 they are its last bits.
struct Integers {
  BLCO_AVX2_INLINE explicit Integers(std::uint64_t base)
      : bases(_mm256_add_epi64(every_lane(base), _mm256_castpd_si256(shift()))) {}
  BLCO_AVX2_INLINE static __m256d shift() { return _mm256_set1_pd(0x1.8p52); }
  BLCO_AVX2_INLINE __m256d convert(__m256i entries) const {
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(entries, bases)), shift());
  }
  BLCO_AVX2_INLINE void put(Group entries, double* values) {
    _mm256_storeu_pd(values, convert(entries.first));
    _mm256_storeu_pd(values + 4, convert(entries.second));
  }
  __m256i bases;
};

// As in frame_avx512.cpp, where a comment says why this is exact.
struct Quotients {
  BLCO_AVX2_INLINE Quotients(std::uint64_t base, double power)
      : integers(base), divisor(_mm256_set1_pd(power)), reciprocal(_mm256_set1_pd(1 / power)) {}
  BLCO_AVX2_INLINE __m256d divide(__m256d dividend) const {
    __m256d quotient = _mm256_mul_pd(dividend, reciprocal);
    for (int step = 0; step < 2; ++step) {
      quotient = _mm256_fmadd_pd(_mm256_fnmadd_pd(quotient, divisor, dividend), reciprocal, quotient);
    }
    return quotient;
  }
  BLCO_AVX2_INLINE void put(Group entries, double* values) {
    _mm256_storeu_pd(values, divide(integers.convert(entries.first)));
    _mm256_storeu_pd(values + 4, divide(integers.convert(entries.second)));
  }
  Integers integers;
  __m256d divisor, reciprocal;
};

template <class Fields, class Result, class Value>
BLCO_AVX2_INLINE void decode_fields(const std::byte* packed, int width, Result result, Value* values) {
  const Fields fields(width);
  for (int at = 0; at < frame_entries; at += 8, packed += width) result.put(fields.unpack(packed), values + at);
}

// Requires: shape.width <= PairFields::widest.
template <class Result, class Value>
BLCO_AVX2_INLINE void decode_packed(const std::byte* frame, FrameShape shape, Result result, Value* values) {
  const std::byte* packed = frame + packed_offset(shape);
  if (shape.width <= WordFields::widest) {
    decode_fields<WordFields>(packed, shape.width, result, values);
  } else if (shape.width <= QuadFields::widest) {
    decode_fields<QuadFields>(packed, shape.width, result, values);
  } else {
    decode_fields<PairFields>(packed, shape.width, result, values);
  }
}

// As patch_portable(), without a branch for each exception.
BLCO_AVX2_INLINE void patch(const std::byte* frame, FrameShape shape, std::uint64_t* entries) {
  if (shape.high_width > PairFields::widest) return patch_portable(frame, shape, entries);
  const std::byte* high = frame + high_offset(shape);
  const auto* position = reinterpret_cast<const std::uint8_t*>(frame + positions_offset(shape));
  const auto bits = static_cast<unsigned>(shape.high_width);
  for (unsigned e = 0, bit = 0; e < static_cast<unsigned>(shape.exceptions); ++e, bit += bits) {
    std::uint64_t word;
    std::memcpy(&word, high + bit / 8, sizeof(word));
    entries[position[e]] |= _bzhi_u64(word >> bit % 8, bits) << shape.width;
  }
}

template <class Result, class Value>
BLCO_AVX2_INLINE void decode(const std::byte* frame, FrameShape shape, Result result, Value* values) {
  if (shape.exceptions == 0) return decode_packed(frame, shape, result, values);
  alignas(32) std::uint64_t entries[frame_entries];
  decode_packed(frame, shape, Entries(), entries);
  patch(frame, shape, entries);
  for (int at = 0; at < frame_entries; at += 8) result.put({load(entries + at), load(entries + at + 4)}, values + at);
}

std::uint64_t base_of(const std::byte* frame, FrameShape shape, std::uint64_t base) {
  if (shape.own_base) std::memcpy(&base, frame, sizeof(base));
  return base;
}

// Whether the sums of base and entries lie within 2^51 of zero, whatever the entries are.
bool has_short_sums(FrameShape shape, std::uint64_t base) {
  constexpr std::int64_t half = std::int64_t{1} << 50;
  const auto number = static_cast<std::int64_t>(base);
  return shape.width + (shape.exceptions > 0 ? shape.high_width : 0) <= 50 && -half <= number && number <= half;
}

// Joins pairs of `width`-bit fields into fields of twice the width, in place; `count` is a multiple of 8.
BLCO_AVX2_INLINE void join_pairs(std::uint64_t* fields, std::size_t count, int width) {
  const __m128i up = _mm_cvtsi32_si128(width);
  for (std::size_t i = 0; i < count; i += 8) {
    const __m256i first = load(fields + i);
    const __m256i second = load(fields + i + 4);
    const __m256i joined = _mm256_or_si256(_mm256_unpacklo_epi64(first, second),
                                           _mm256_sll_epi64(_mm256_unpackhi_epi64(first, second), up));
    store(_mm256_permute4x64_epi64(joined, 0xd8), fields + i / 2);
  }
}

}  // namespace

// Joins fields until they have more than 32 bits.
BLCO_AVX2 void pack_avx2(const std::uint64_t* entries, int width, std::byte* packed) {
  alignas(32) std::array<std::uint64_t, frame_entries> fields;
  const __m256i mask = every_lane(low_ones(width));
  for (std::size_t i = 0; i < fields.size(); i += 4) store(_mm256_and_si256(load(entries + i), mask), &fields[i]);
  std::size_t count = fields.size();
  for (; width <= 32 && count > 4; width *= 2, count /= 2) join_pairs(fields.data(), count, width);
  std::uint64_t word = 0;
  int filled = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= fields[i] << filled;
    filled += width;
    if (filled < 64) continue;
    std::memcpy(packed, &word, sizeof(word));
    packed += sizeof(word);
    filled -= 64;
    word = filled == 0 ? 0 : fields[i] >> (width - filled);
  }
}

BLCO_AVX2 void bit_widths_avx2(const std::uint64_t* entries, std::uint8_t* widths) {
#pragma GCC unroll 8
  for (int i = 0; i < frame_entries; ++i) widths[i] = static_cast<std::uint8_t>(64 - _lzcnt_u64(entries[i]));
}

BLCO_AVX2 void decode_frame_avx2(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                                 std::uint64_t* values) {
  if (shape.width > PairFields::widest) return decode_frame_portable(frame, shape, coding, base, values);
  base = base_of(frame, shape, base);
  if (coding == FrameCoding::plain) {
    decode(frame, shape, Sums(base), values);
  } else {
    decode(frame, shape, RunningSums(base), values);
  }
}

BLCO_AVX2 void decode_quotients_avx2(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                                     double* values) {
  const std::uint64_t own = base_of(frame, shape, base);
  if (!has_short_sums(shape, own)) return decode_quotients_portable(frame, shape, base, power, values);
  if (power == 1) {
    decode(frame, shape, Integers(own), values);
  } else {
    decode(frame, shape, Quotients(own, power), values);
  }
}

}  // namespace blco

#else

namespace blco {

void pack_avx2(const std::uint64_t*, int, std::byte*) {}
void bit_widths_avx2(const std::uint64_t*, std::uint8_t*) {}
void decode_frame_avx2(const std::byte*, FrameShape, FrameCoding, std::uint64_t, std::uint64_t*) {}
void decode_quotients_avx2(const std::byte*, FrameShape, std::uint64_t, double, double*) {}

}  // namespace blco

#endif
