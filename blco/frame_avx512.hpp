// Loops over a frame for AVX-512, eight entries at a time; for callers that have asked has_frame_avx512().
#pragma once

#include <cstddef>
#include <cstdint>

namespace blco {

bool has_frame_avx512();

// `groups` times eight packed fields of `width` bits, 0 to 64. Reads no byte past the last field.
void unpack_avx512(const std::byte* packed, int width, int groups, std::uint64_t* values);
// The low `width` bits, 1 to 64, of each of 256 entries, packed: 32 * width bytes, and no byte past them is written.
void pack_avx512(const std::uint64_t* entries, int width, std::byte* packed);
// std::bit_width of 256 entries.
void bit_widths_avx512(const std::uint64_t* entries, std::uint8_t* widths);
// The least and the largest of `count` numbers, each with `mask`, and of what is there.
void widen_range_avx512(const std::uint64_t* numbers, std::size_t count, std::uint64_t mask, std::uint64_t& least,
                        std::uint64_t& largest);
// Running sums of 256 entries, from `base` on.
void scan_avx512(std::uint64_t base, std::uint64_t* values);
// Adds `base` to 256 entries.
void add_avx512(std::uint64_t base, std::uint64_t* values);
// 256 signed integers below 2^53, each divided by `power`, a power of ten up to 10^15: the same bits as a division
// gives.
void divide_avx512(const std::uint64_t* integers, double power, double* values);

}  // namespace blco
