// A payload: one column of one chunk, as the same bytes on disk, in host memory, on the link and in the kernels.
//
// Little-endian: header, frame table, frames, 8 bytes of tail padding. FORMAT.md gives the byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/frame.hpp"
#include "blco/host_device.hpp"

namespace blco {

enum class Codec : std::uint8_t {
  line = 1,     // frames of differences: index and key columns
  integer = 2,  // frames of signed integers below 2^53
  decimal = 3,  // frames of integers m, the value is m / 10^exponent
  f32 = 4,
  f64 = 5,
  f64_shuffled = 6,  // on disk only: byte k of all values, for k = 0..7
};

struct PayloadHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t codec;
  std::uint8_t exponent;  // decimal only, else 0
  std::uint32_t count;    // entries
  std::uint32_t crc;      // CRC32C of the payload, computed with this field zero
  std::uint64_t length;   // of the whole payload in bytes, header and padding included
  std::uint64_t base;     // of frames without a base of their own
};
static_assert(sizeof(PayloadHeader) == 32);

inline constexpr std::uint32_t payload_magic = 0x50434c42;  // "BLCP"
inline constexpr std::uint16_t payload_version = 1;
inline constexpr std::size_t payload_padding = 8;

struct FrameEntry {
  std::uint32_t offset;  // of the frame from the payload's start, in units of 8 bytes
  std::uint32_t descriptor;
};
static_assert(sizeof(FrameEntry) == 8);

// Trivially copyable view of a checked payload; `bytes` is 8-byte aligned.
struct PayloadView {
  const std::byte* bytes = nullptr;
  std::uint32_t count = 0;
  Codec codec = Codec::line;
  double divisor = 1;  // of what is stored: of decimals 10^exponent; times a power of 2, see view_values()
  std::uint64_t base = 0;

  BLCO_HOST_DEVICE const FrameEntry& entry(std::uint64_t frame) const {
    return reinterpret_cast<const FrameEntry*>(bytes + sizeof(PayloadHeader))[frame];
  }
  BLCO_HOST_DEVICE const std::byte* frame(std::uint64_t frame) const {
    return bytes + 8 * static_cast<std::uint64_t>(entry(frame).offset);
  }
  // Raw values of the codecs f32 and f64.
  BLCO_HOST_DEVICE const std::byte* raw() const { return bytes + sizeof(PayloadHeader); }
};

// Upper bound of a payload's size for `count` entries. Check a stored length against it before allocating.
constexpr std::uint64_t max_payload_bytes(std::uint64_t count) {
  const std::uint64_t frames = (count + frame_entries - 1) / frame_entries;
  return sizeof(PayloadHeader) + frames * (sizeof(FrameEntry) + 8 * frame_entries + 8) + payload_padding;
}

// Packs an index or key column. Any sequence works; a slowly growing one packs well. Here and below, the payload reuses
// the memory of `space` if that is large enough.
std::vector<std::byte> encode_line_column(std::span<const std::uint64_t> column, std::vector<std::byte> space = {});

// Packs finite values by the first exact codec of: ones (empty result), integer, decimal, f32, f64; but by f32 instead
// of decimal where that is smaller. Decoding restores every bit, including the sign of zero.
std::vector<std::byte> encode_values(std::span<const double> values, std::vector<std::byte> space = {});
// Same, but packs ones as integers: for writers that cannot leave a chunk out.
std::vector<std::byte> encode_stored_values(std::span<const double> values, std::vector<std::byte> space = {});

// Checks magic, version, codec, lengths, checksum and every frame table entry. The payload may hold more entries than
// expected, never fewer. Throws Error{corrupt}; the caller adds file and chunk.
PayloadView check_payload(std::span<const std::byte> payload, std::uint64_t expected_count);
// The checksum of a payload of which more and more arrives. Its first piece holds at least the header.
class PayloadChecksum {
 public:
  void add(std::span<const std::byte> next);
  std::uint32_t value() const { return crc_; }

 private:
  std::uint32_t crc_ = 0;
  bool has_begun_ = false;
};
// As check_payload, for a payload whose checksum has been computed while it arrived.
PayloadView check_payload(std::span<const std::byte> payload, std::uint64_t expected_count,
                          const PayloadChecksum& checksum);
// Same without checksum and frame table. Requires: the bytes were checked before.
PayloadView view_payload(std::span<const std::byte> payload);
// Same of values, each divided by 2^value_exponent as it is decoded; without a payload all are 1 before that.
PayloadView view_values(std::span<const std::byte> payload, int value_exponent);

// Convert a whole payload between codecs f64 and f64_shuffled, checksum included. `out` has the same size.
void shuffle_f64(std::span<const std::byte> payload, std::span<std::byte> out);
void unshuffle_f64(std::span<const std::byte> payload, std::span<std::byte> out);

// Decodes the 256 entries of frame `frame` (from entry 256 * frame on) of a line column into `out`, which holds 256.
void decode_line_frame(const PayloadView& payload, std::uint64_t frame, std::uint64_t* out);
// Same for values of any codec, or without a payload; entries past the end are unspecified.
void decode_value_frame(const PayloadView& payload, std::uint64_t frame, double* out);

// Checks a payload that check_payload has accepted: tail and alignment bytes, fields past the count in the last frame,
// the exponent of codecs that have none, and that exception positions ascend and lie below the count. None of this
// changes the decoded entries, but a decoder may rely on it. Throws Error{corrupt}; the caller adds file and chunk.
void check_padding(std::span<const std::byte> payload);

}  // namespace blco
