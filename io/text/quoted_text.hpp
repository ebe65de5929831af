// Shows input text in messages.
#pragma once

#include <string>
#include <string_view>

namespace blco {

// Quoted, shortened, and printable whatever the text contains.
std::string quoted_for_message(std::string_view text);

}  // namespace blco
