// Tells whether text is UTF-8, and shows input text in messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace blco {

// What some programs write before text in UTF-8.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Position of the first byte that begins no whole, well-formed UTF-8 character (Unicode 15, table 3-7: no overlong
// forms, no surrogates, nothing above U+10FFFF); nothing if there is none.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Quoted, shortened, printable and UTF-8 whatever the text contains.
std::string quoted_for_message(std::string_view text);

// Follows a text or name in a message that refuses it.
inline constexpr const char* not_utf8 = " is not UTF-8; convert the file (for example: iconv -f LATIN1 -t UTF-8)";

}  // namespace blco
