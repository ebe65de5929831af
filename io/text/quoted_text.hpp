// Shows input text in messages.
#pragma once

#include <string>
#include <string_view>

namespace blco {

// Quoted, shortened, printable and UTF-8 whatever the text contains.
std::string quoted_for_message(std::string_view text);

// Follows a text or name in a message that refuses it.
inline constexpr const char* not_utf8 = " is not UTF-8; convert the file (for example: iconv -f LATIN1 -t UTF-8)";

}  // namespace blco
