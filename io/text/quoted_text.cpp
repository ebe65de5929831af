// Skips ASCII eight bytes at a time, and checks other characters one by one.
#include "io/text/quoted_text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace blco {
namespace {

// Bytes of the character at the start of `text`, which is not empty; 0 if it is not well-formed.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  // The second byte excludes overlong forms (e0, f0), surrogates (ed) and what lies above U+10FFFF (f4).
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < bytes; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return bytes;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    if ((word & high_bits) == 0) {
      at += sizeof(word);
      continue;
    }
    const std::size_t bytes = character_bytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

std::string quoted_for_message(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::size_t kept = std::min(text.size(), longest);
  // Does not split a UTF-8 character: its later bytes are 10xxxxxx.
  while (kept < text.size() && kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;
  std::string shown(text.substr(0, kept));
  std::ranges::replace_if(
      shown, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  while (const auto invalid = find_invalid_utf8(shown)) shown[*invalid] = '?';
  return "'" + shown + (kept < text.size() ? "...'" : "'");
}

}  // namespace blco
