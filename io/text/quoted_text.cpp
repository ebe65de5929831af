// Cuts texts short and replaces control characters.
#include "io/text/quoted_text.hpp"

#include <algorithm>

#include "io/text/utf8.hpp"

namespace blco {

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
