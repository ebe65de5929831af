// How a message names an option of the call that failed.
#pragma once

#include <string>
#include <string_view>

namespace blco {

// The member of the option struct in backticks, "`chunk_nnz`", with the value to give it where there is one,
// "`memory_bytes = 24MiB`". A program that sets the option by a flag puts the flag in its place.
inline std::string option_name(std::string_view member, std::string_view value = {}) {
  std::string text = "`";
  text += member;
  if (!value.empty()) text.append(" = ").append(value);
  return text += '`';
}

}  // namespace blco
