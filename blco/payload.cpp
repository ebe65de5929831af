// Payload headers, frame tables, checks, and line columns.
#include "blco/payload.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "blco/chunk.hpp"
#include "blco/crc32c.hpp"
#include "blco/error.hpp"
#include "blco/payload_builder.hpp"

namespace blco {
namespace {

constexpr std::size_t crc_offset = offsetof(PayloadHeader, crc);

std::uint32_t payload_crc(std::span<const std::byte> payload) {
  PayloadChecksum checksum;
  checksum.add(payload);
  return checksum.value();
}

PayloadHeader read_header(std::span<const std::byte> payload) {
  PayloadHeader header;
  std::memcpy(&header, payload.data(), sizeof(header));
  return header;
}

void write_header(PayloadHeader header, std::span<std::byte> payload) {
  header.crc = 0;
  std::memcpy(payload.data(), &header, sizeof(header));
  header.crc = payload_crc(payload);
  std::memcpy(payload.data(), &header, sizeof(header));
}

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::corrupt, what); }

std::uint64_t frame_count(std::uint64_t count) { return (count + frame_entries - 1) / frame_entries; }

std::uint64_t raw_bytes(Codec codec, std::uint64_t count) {
  return codec == Codec::f32 ? (4 * count + 7) / 8 * 8 : 8 * count;
}

void check_frames(std::span<const std::byte> payload, const PayloadHeader& header) {
  const std::uint64_t frames = frame_count(header.count);
  const std::uint64_t first = sizeof(PayloadHeader) + frames * sizeof(FrameEntry);
  if (header.length < first + payload_padding) fail("the frame table does not fit into the payload");
  const std::uint64_t end = header.length - payload_padding;
  for (std::uint64_t f = 0; f < frames; ++f) {
    FrameEntry entry;
    std::memcpy(&entry, payload.data() + sizeof(PayloadHeader) + f * sizeof(FrameEntry), sizeof(entry));
    const FrameShape shape = unpack_descriptor(entry.descriptor);
    const std::uint64_t offset = 8 * static_cast<std::uint64_t>(entry.offset);
    const bool legal = entry.descriptor >> 24 == 0 && shape.width + shape.high_width <= 64 &&
                       (shape.exceptions == 0 || shape.high_width > 0) && shape.exceptions <= frame_entries &&
                       offset >= first && offset <= end && frame_bytes(shape) <= end - offset;
    if (!legal) fail("frame " + std::to_string(f) + " lies outside the payload or has an impossible shape");
  }
}

void swap_f64_order(std::span<const std::byte> payload, std::span<std::byte> out, Codec to) {
  PayloadHeader header = read_header(payload);
  const std::size_t count = header.count;
  std::memcpy(out.data(), payload.data(), payload.size());
  const std::byte* from = payload.data() + sizeof(PayloadHeader);
  std::byte* into = out.data() + sizeof(PayloadHeader);
  for (std::size_t byte = 0; byte < 8; ++byte) {
    if (to == Codec::f64_shuffled) {
      for (std::size_t i = 0; i < count; ++i) into[byte * count + i] = from[8 * i + byte];
    } else {
      for (std::size_t i = 0; i < count; ++i) into[8 * i + byte] = from[byte * count + i];
    }
  }
  header.codec = static_cast<std::uint8_t>(to);
  write_header(header, out);
}

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

PayloadBuilder::PayloadBuilder(Codec codec, std::uint64_t count, int exponent, std::uint64_t base,
                               std::vector<std::byte> space)
    : bytes_(std::move(space)) {
  header_ = {payload_magic,
             payload_version,
             static_cast<std::uint8_t>(codec),
             static_cast<std::uint8_t>(exponent),
             static_cast<std::uint32_t>(count),
             0,
             0,
             base};
  bytes_.clear();
  bytes_.resize(sizeof(PayloadHeader));
}

void PayloadBuilder::reserve_table() {
  bytes_.resize(sizeof(PayloadHeader) + frame_count(header_.count) * sizeof(FrameEntry));
}

void PayloadBuilder::add_frame(std::span<const std::uint64_t> values, FrameCoding coding) {
  const auto offset = static_cast<std::uint32_t>(bytes_.size() / 8);
  const FrameEntry entry{offset, pack_descriptor(encode_frame(values, coding, header_.base, bytes_))};
  std::memcpy(bytes_.data() + sizeof(PayloadHeader) + frames_++ * sizeof(FrameEntry), &entry, sizeof(entry));
}

std::span<std::byte> PayloadBuilder::add_packed(std::size_t bytes) {
  bytes_.reserve(sizeof(PayloadHeader) + bytes + payload_padding);
  bytes_.resize(sizeof(PayloadHeader) + bytes);
  return std::span(bytes_).subspan(sizeof(PayloadHeader));
}

void PayloadBuilder::add_raw(std::span<const std::byte> raw) { bytes_.insert(bytes_.end(), raw.begin(), raw.end()); }

std::vector<std::byte> PayloadBuilder::finish() {
  bytes_.resize((bytes_.size() + 7) / 8 * 8 + payload_padding);
  header_.length = bytes_.size();
  write_header(header_, bytes_);
  return std::move(bytes_);
}

std::vector<std::byte> encode_line_column(std::span<const std::uint64_t> column, std::vector<std::byte> space) {
  PayloadBuilder builder(Codec::line, column.size(), 0, column.empty() ? 0 : column[0], std::move(space));
  builder.reserve_table();
  for (std::size_t first = 0; first < column.size(); first += frame_entries) {
    builder.add_frame(column.subspan(first, std::min<std::size_t>(frame_entries, column.size() - first)),
                      FrameCoding::differences);
  }
  return builder.finish();
}

void PayloadChecksum::add(std::span<const std::byte> next) {
  if (!has_begun_) {
    constexpr std::array<std::byte, sizeof(PayloadHeader::crc)> zero{};
    crc_ = crc32c(zero, crc32c(next.first(crc_offset)));
    next = next.subspan(crc_offset + zero.size());
    has_begun_ = true;
  }
  crc_ = crc32c(next, crc_);
}

PayloadView check_payload(std::span<const std::byte> payload, std::uint64_t expected_count) {
  PayloadChecksum checksum;
  if (payload.size() >= sizeof(PayloadHeader)) checksum.add(payload);
  return check_payload(payload, expected_count, checksum);
}

PayloadView check_payload(std::span<const std::byte> payload, std::uint64_t expected_count,
                          const PayloadChecksum& checksum) {
  if (payload.size() < sizeof(PayloadHeader) + payload_padding) fail("the payload is too short for its header");
  const PayloadHeader header = read_header(payload);
  if (header.magic != payload_magic) fail("the payload does not start with its magic number");
  if (header.version != payload_version) {
    fail("the payload has version " + std::to_string(header.version) + ", but this build supports version " +
         std::to_string(payload_version));
  }
  if (header.length != payload.size()) fail("the payload's length disagrees with its header");
  if (header.crc != checksum.value()) fail("the checksum of the payload does not match");
  if (header.count < expected_count || header.count > max_chunk_nnz) {
    fail("the payload holds " + std::to_string(header.count) + " entries where " + std::to_string(expected_count) +
         " were expected");
  }
  const auto codec = static_cast<Codec>(header.codec);
  if (header.exponent > (codec == Codec::decimal ? max_decimal_exponent : 0)) {
    fail("the payload's decimal exponent is out of range");
  }
  switch (codec) {
    case Codec::decimal:
    case Codec::line:
    case Codec::integer:
      check_frames(payload, header);
      break;
    case Codec::f32:
    case Codec::f64:
    case Codec::f64_shuffled:
      if (header.length != sizeof(PayloadHeader) + raw_bytes(codec, header.count) + payload_padding) {
        fail("the payload's length disagrees with its count of values");
      }
      break;
    default:
      fail("the payload has the unknown codec " + std::to_string(header.codec));
  }
  return view_payload(payload);
}

PayloadView view_payload(std::span<const std::byte> payload) {
  const PayloadHeader header = read_header(payload);
  return {payload.data(), header.count, static_cast<Codec>(header.codec), power_of_ten[header.exponent], header.base};
}

PayloadView view_values(std::span<const std::byte> payload, int value_exponent) {
  PayloadView view = payload.empty() ? PayloadView{} : view_payload(payload);
  view.divisor = std::ldexp(view.divisor, value_exponent);
  return view;
}

void shuffle_f64(std::span<const std::byte> payload, std::span<std::byte> out) {
  swap_f64_order(payload, out, Codec::f64_shuffled);
}

void unshuffle_f64(std::span<const std::byte> payload, std::span<std::byte> out) {
  swap_f64_order(payload, out, Codec::f64);
}

void decode_line_frame(const PayloadView& payload, std::uint64_t frame, std::uint64_t* out) {
  decode_frame(payload.frame(frame), unpack_descriptor(payload.entry(frame).descriptor), FrameCoding::differences,
               payload.base, out);
}

void check_padding(std::span<const std::byte> payload) {
  const PayloadView view = view_payload(payload);
  if (!all_zero(payload.last(payload_padding))) fail("the last 8 bytes of the payload are not zero");
  if (view.codec != Codec::decimal && view.divisor != 1) fail("the payload has an exponent, but not codec decimal");
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
