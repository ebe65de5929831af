// Assigns output rows to owning threads, and splits nonzeros by owner.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blco {

// Receives nonzeros for one owner; indices and values are as in a DecodedChunk.
struct SplitSink {
  std::uint64_t* indices = nullptr;
  double* values = nullptr;  // nullptr: all are 1, and none are written
  std::size_t count = 0;
};

// A split may write up to this many entries past the end of a sink.
inline constexpr std::size_t split_slack = 64;

// A hash of bits that distinguish rows (those under `mask`, or the row number) fixes the owner. So equal rows have one
// owner, adjacent rows spread over all, and only a single heavy row can unbalance them.
//
// Appends `count` nonzeros to two sinks, in order. The row's bits are those under `mask` in the index.
void split_in_two(const std::uint64_t* indices, const double* values, std::size_t count, std::uint64_t mask,
                  SplitSink& first, SplitSink& second);
// Writes the owner, 0 to owners - 1, of each of `count` nonzeros. Requires: owners <= 4096.
void find_owners(const std::uint64_t* indices, std::size_t count, std::uint64_t mask, std::uint32_t owners,
                 std::uint16_t* out);
// Same for row numbers, ignoring their lowest `ignored_bits`.
void find_owners(const std::uint32_t* rows, std::size_t count, int ignored_bits, std::uint32_t owners,
                 std::uint16_t* out);

}  // namespace blco
