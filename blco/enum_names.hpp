// Words that stand for the values of an enumeration, in its order.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace blco {

// Nothing for a word that is none of them.
template <class Enum, class Text, std::size_t count>
std::optional<Enum> find_name(const std::array<Text, count>& names, std::string_view word) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::string_view(names[i]) == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace blco
