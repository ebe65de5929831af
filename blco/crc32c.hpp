// CRC32C (Castagnoli), the checksum of payloads and metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blco {

// Continues `crc`, the checksum of the bytes so far (0 for none). crc32c of "123456789" is 0xe3069283.
// Uses the CPU's instruction where it has one, chosen at run time.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

// The table-driven form, the same on every CPU.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace blco
