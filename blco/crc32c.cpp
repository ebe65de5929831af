// CRC32C by slicing tables, or by the SSE4.2 instruction on three streams if the CPU has it.
#include "blco/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace blco {
namespace {

constexpr std::uint32_t reversed_polynomial = 0x82f63b78;

constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reversed_polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 255];
    }
  }
  return tables;
}

constexpr auto tables = make_tables();

std::uint32_t update_by_tables(const std::byte* bytes, std::size_t size, std::uint32_t crc) {
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint32_t>(*bytes)) & 255];
  return crc;
}

#if defined(__x86_64__)
// Bytes per stream. The instruction has a latency of three cycles and can start every cycle, hence three streams.
constexpr std::size_t stream_bytes = 1024;

// crc_after_zeros[k][b]: byte k of a running checksum, of value b, after stream_bytes zero bytes.
constexpr std::array<std::array<std::uint32_t, 256>, 4> make_shift_tables() {
  std::array<std::uint32_t, 32> column{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < stream_bytes; ++i) crc = (crc >> 8) ^ tables[0][crc & 255];
    column[bit] = crc;
  }
  std::array<std::array<std::uint32_t, 256>, 4> shift{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) shift[k][byte] ^= column[8 * k + bit];
      }
    }
  }
  return shift;
}

std::uint32_t skip_stream(std::uint32_t crc) {
  static const auto shift = make_shift_tables();
  return shift[0][crc & 255] ^ shift[1][crc >> 8 & 255] ^ shift[2][crc >> 16 & 255] ^ shift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) std::uint64_t step(std::uint64_t crc, const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  return _mm_crc32_u64(crc, word);
}

__attribute__((target("sse4.2"))) std::uint32_t update_by_instruction(const std::byte* bytes, std::size_t size,
                                                                      std::uint32_t start) {
  std::uint64_t crc = start;
  for (; size >= 3 * stream_bytes; size -= 3 * stream_bytes, bytes += 3 * stream_bytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < stream_bytes; i += 8) {
      crc = step(crc, bytes + i);
      second = step(second, bytes + stream_bytes + i);
      third = step(third, bytes + 2 * stream_bytes + i);
    }
    crc = skip_stream(static_cast<std::uint32_t>(crc)) ^ second;
    crc = skip_stream(static_cast<std::uint32_t>(crc)) ^ third;
  }
  for (; size >= 8; size -= 8, bytes += 8) crc = step(crc, bytes);
  return update_by_tables(bytes, size, static_cast<std::uint32_t>(crc));
}

bool has_crc_instruction() {
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") != 0;
  }();
  return has;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) {
  return ~update_by_tables(bytes.data(), bytes.size(), ~crc);
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  if (has_crc_instruction()) return ~update_by_instruction(bytes.data(), bytes.size(), ~crc);
#endif
  return crc32c_portable(bytes, crc);
}

}  // namespace blco
