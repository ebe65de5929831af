// Checks the bytes of a payload that hold no entries.
#include "blco/padding.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "blco/error.hpp"
#include "blco/payload.hpp"

namespace blco {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::corrupt, what); }

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// True if all bits from `first` to the end of the bytes are zero.
bool zero_from_bit(std::span<const std::byte> bytes, std::size_t first) {
  if (first / 8 == bytes.size()) return true;
  const auto rest = std::to_integer<unsigned>(bytes[first / 8]) >> (first % 8);
  return rest == 0 && all_zero(bytes.subspan(first / 8 + 1));
}

void check_positions(std::span<const std::byte> positions, int entries, const std::string& frame) {
  int before = -1;
  for (const std::byte byte : positions) {
    const auto position = std::to_integer<int>(byte);
    if (position <= before) fail(frame + ": the positions of its exceptions do not ascend");
    if (position >= entries) fail(frame + ": an exception lies past the last entry");
    before = position;
  }
}

void check_frame(std::span<const std::byte> payload, const PayloadView& view, std::uint64_t number) {
  const std::string name = "frame " + std::to_string(number);
  const FrameShape shape = unpack_descriptor(view.entry(number).descriptor);
  const auto entries = static_cast<int>(std::min<std::uint64_t>(frame_entries, view.count - number * frame_entries));
  const auto frame = payload.subspan(8 * static_cast<std::size_t>(view.entry(number).offset), frame_bytes(shape));
  const auto packed = frame.subspan(packed_offset(shape), 32 * static_cast<std::size_t>(shape.width));
  if (!zero_from_bit(packed, static_cast<std::size_t>(entries) * static_cast<std::size_t>(shape.width))) {
    fail(name + ": its fields past the last entry are not zero");
  }
  const auto exceptions = static_cast<std::size_t>(shape.exceptions);
  check_positions(frame.subspan(positions_offset(shape), exceptions), entries, name);
  if (!all_zero(frame.subspan(positions_offset(shape) + exceptions))) fail(name + ": its padding is not zero");
}

}  // namespace

void check_padding(std::span<const std::byte> payload) {
  const PayloadView view = view_payload(payload);
  if (!all_zero(payload.last(payload_padding))) fail("the last 8 bytes of the payload are not zero");
  if (view.codec != Codec::decimal && view.exponent != 0) fail("the payload has an exponent, but not codec decimal");
  if (view.codec == Codec::f32) {
    if (!all_zero(payload.subspan(sizeof(PayloadHeader) + 4 * std::size_t{view.count}))) {
      fail("the padding behind the values is not zero");
    }
  } else if (view.codec != Codec::f64 && view.codec != Codec::f64_shuffled) {
    const std::uint64_t frames = (view.count + frame_entries - 1) / frame_entries;
    for (std::uint64_t f = 0; f < frames; ++f) check_frame(payload, view, f);
  }
}

}  // namespace blco
