// Which thread owns an output row, and splitting nonzeros by that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blco {

// Nonzeros on their way to the owners of their rows: indices and values are as in a DecodedChunk.
struct SplitSink {
  std::uint64_t* indices = nullptr;
  double* values = nullptr;  // nullptr: all are 1, and there are none to write
  std::size_t count = 0;
};

// A split may write this many entries past the last one of a sink.
inline constexpr std::size_t split_slack = 64;

// Owners are fixed by a hash of `row_bits`, any bits that tell rows apart: so equal rows have one owner, rows that lie
// together are spread over all, and no skew but that of single rows is left.
//
// Appends `count` nonzeros to two sinks in their order. The bits of the row are those of `mask` in the index.
void split_in_two(const std::uint64_t* indices, const double* values, std::size_t count, std::uint64_t mask,
                  SplitSink& first, SplitSink& second);
// The owner, from 0 to owners - 1, of each of `count` nonzeros. `owners` is at most 4096.
void find_owners(const std::uint64_t* indices, std::size_t count, std::uint64_t mask, std::uint32_t owners,
                 std::uint16_t* out);
// The same of rows, without their lowest `ignored_bits`.
void find_owners(const std::uint32_t* rows, std::size_t count, int ignored_bits, std::uint32_t owners,
                 std::uint16_t* out);

}  // namespace blco
