// Exact reads at an offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace blco {

// Reads exactly `out.size()` bytes. Throws Error: io, or corrupt where the file ends before that; without a place.
void read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out);

// The same; the message names the file.
void read_at(int descriptor, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out);

}  // namespace blco
