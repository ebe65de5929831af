// A non-owning view of a chunk: the verified payloads of its columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace blco {

inline constexpr std::uint64_t default_chunk_nnz = std::uint64_t{1} << 20;
inline constexpr std::uint64_t max_chunk_nnz = std::uint64_t{1} << 24;

enum class Column : int { index = 0, high_word = 1, value = 2 };
inline constexpr std::size_t column_count = 3;

// In memory that a chunk is read into, and in device memory, its payloads follow each other and begin at multiples of
// this from the first: kernels read whole cache lines, and one copy moves them all.
inline constexpr std::uint64_t payload_alignment = 256;

// Space of a payload before the next one.
constexpr std::uint64_t payload_slot_bytes(std::uint64_t payload_bytes) {
  return (payload_bytes + payload_alignment - 1) / payload_alignment * payload_alignment;
}

// An empty key payload means lines of up to 64 bits; an empty value payload means that all values are 1.
struct ChunkView {
  std::uint64_t number = 0;  // position in the container, for messages
  std::uint64_t nnz = 0;
  std::array<std::span<const std::byte>, column_count> payload{};
  std::span<const std::uint64_t> lower{};  // per mode, smallest coordinate in the chunk
  std::span<const std::uint64_t> upper{};  // per mode, largest coordinate in the chunk, inclusive
  int value_exponent = 0;                  // its values count divided by 2 to the power of this
  int sorted_by = -1;                      // the mode in whose order its lines are; -1: in the natural order

  // All payloads as one range, with what lies between them; empty if they do not follow each other as above.
  std::span<const std::byte> contiguous() const {
    std::span<const std::byte> all;
    for (const std::span<const std::byte> next : payload) {
      if (next.empty()) continue;
      const std::size_t offset = static_cast<std::size_t>(payload_slot_bytes(all.size()));
      if (!all.empty() && all.data() + offset != next.data()) return {};
      all = all.empty() ? next : std::span(all.data(), offset + next.size());
    }
    return all;
  }

  std::span<const std::byte> operator[](Column column) const { return payload[static_cast<std::size_t>(column)]; }
};

}  // namespace blco
