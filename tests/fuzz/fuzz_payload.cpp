// Fuzzes the decoder of payloads, and sends columns there and back.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "blco/crc32c.hpp"
#include "blco/payload.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace {

using namespace blco;

std::vector<std::uint64_t> decode(const PayloadView& view) {
  std::vector<std::uint64_t> decoded;
  std::array<std::uint64_t, frame_entries> line{};
  std::array<double, frame_entries> values{};
  const std::uint64_t frames = (view.count + std::uint64_t{frame_entries} - 1) / frame_entries;
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    if (view.codec == Codec::line) {
      decode_line_frame(view, frame, line.data());
    } else {
      decode_value_frame(view, frame, values.data());
      for (std::size_t i = 0; i < values.size(); ++i) line[i] = std::bit_cast<std::uint64_t>(values[i]);
    }
    decoded.insert(decoded.end(), line.begin(), line.end());
  }
  decoded.resize(view.count);
  return decoded;
}

// As a writer does it: the checksum is right, and so all else must be looked at.
void sign(std::vector<std::byte>& payload) {
  constexpr std::size_t at = offsetof(PayloadHeader, crc);
  if (payload.size() < sizeof(PayloadHeader)) return;
  std::memset(payload.data() + at, 0, sizeof(std::uint32_t));
  const std::uint32_t crc = crc32c(payload);
  std::memcpy(payload.data() + at, &crc, sizeof(crc));
}

void decode_foreign(std::string_view bytes, std::uint64_t expected, bool fixes_length) {
  std::vector<std::byte> payload(bytes.size());
  if (!bytes.empty()) std::memcpy(payload.data(), bytes.data(), bytes.size());
  const auto length = static_cast<std::uint64_t>(payload.size());
  if (fixes_length && payload.size() >= sizeof(PayloadHeader)) {
    std::memcpy(payload.data() + offsetof(PayloadHeader, length), &length, sizeof(length));
  }
  sign(payload);
  fuzz::refusal_of([&] {
    const PayloadView view = check_payload(payload, expected);
    fuzz::require(view.count >= expected);
    if (view.codec != Codec::f64_shuffled) {
      decode(view);
      return;
    }
    std::vector<std::byte> plain(payload.size());
    unshuffle_f64(payload, plain);
    decode(check_payload(plain, expected));
  });
}

void send_there_and_back(std::string_view bytes, bool as_values) {
  std::vector<std::uint64_t> column(bytes.size() / sizeof(std::uint64_t));
  if (column.empty()) return;
  std::memcpy(column.data(), bytes.data(), column.size() * sizeof(std::uint64_t));
  std::vector<std::byte> payload;
  if (as_values) {
    std::vector<double> values;
    for (std::uint64_t& bits : column) {
      if (!std::isfinite(std::bit_cast<double>(bits))) bits >>= 12;
      values.push_back(std::bit_cast<double>(bits));
    }
    payload = encode_stored_values(values);
  } else {
    payload = encode_line_column(column);
  }
  fuzz::require(payload.size() <= max_payload_bytes(column.size()));
  fuzz::require(decode(check_payload(payload, column.size())) == column);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  const auto kind = input.take<std::uint8_t>();
  if ((kind & 1) != 0) {
    send_there_and_back(input.rest(), (kind & 2) != 0);
  } else {
    const auto expected = input.take<std::uint16_t>();
    decode_foreign(input.rest(), expected, (kind & 2) != 0);
  }
  return 0;
}
