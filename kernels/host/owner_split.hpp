// Assigns output rows to owning threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blco {

// A hash of bits that distinguish rows (those under `mask`, or the row number) fixes the owner. So equal rows have one
// owner, adjacent rows spread over all, and only a single heavy row can unbalance them.
// Writes the owner, 0 to owners - 1, of each of `count` nonzeros. Requires: owners <= 4096.
void find_owners(const std::uint64_t* indices, std::size_t count, std::uint64_t mask, std::uint32_t owners,
                 std::uint16_t* out);
// Same for row numbers, ignoring their lowest `ignored_bits`.
void find_owners(const std::uint32_t* rows, std::size_t count, int ignored_bits, std::uint32_t owners,
                 std::uint16_t* out);

}  // namespace blco
