// A number as text.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace blco {

// In the fewest digits that give the number back.
inline std::string in_full(double number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace blco
