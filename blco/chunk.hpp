// A non-owning view of a chunk: the verified payloads of its columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace blco {

inline constexpr std::uint64_t default_chunk_nnz = std::uint64_t{1} << 20;
inline constexpr std::uint64_t max_chunk_nnz = std::uint64_t{1} << 24;

enum class Column : int { index = 0, key = 1, value = 2 };
inline constexpr std::size_t column_count = 3;

// An empty key payload means lines of up to 64 bits; an empty value payload means that all values are 1.
struct ChunkView {
  std::uint64_t number = 0;  // position in the container, for messages
  std::uint64_t nnz = 0;
  std::array<std::span<const std::byte>, column_count> payload{};
  std::span<const std::uint64_t> lower{};  // per mode, smallest coordinate in the chunk
  std::span<const std::uint64_t> upper{};  // per mode, largest coordinate in the chunk, inclusive

  std::span<const std::byte> operator[](Column column) const { return payload[static_cast<std::size_t>(column)]; }
};

}  // namespace blco
