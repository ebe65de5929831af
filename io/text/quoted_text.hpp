// What messages show of an input's text.
#pragma once

#include <string>
#include <string_view>

namespace blco {

// In quotes, short, and printable whatever the text holds.
std::string quoted_for_message(std::string_view text);

}  // namespace blco
