// Single indices of a view, whatever their type.
#pragma once

#include <blco/views.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "blco/refuse.hpp"

namespace blco {

// A negative index becomes 2^63 or more.
inline std::uint64_t index_at(const IndexView& view, std::size_t i) {
  return std::visit([i](const auto& numbers) { return static_cast<std::uint64_t>(numbers[i]); }, view);
}

// Throws Error{invalid_argument} for a view of numbers that are nowhere; `what` names it.
template <class View>
void check_view(const View& view, const std::string& what) {
  const bool is_null = std::visit([](const auto& numbers) { return numbers.data == nullptr; }, view);
  if (is_null && size_of(view) > 0) refuse(what + " are null");
}

// "the coordinate -7 in mode 1 is negative; ...", or that it is not below the mode's length.
inline std::string index_fault(const IndexView& view, std::size_t i, std::size_t mode, std::uint64_t length) {
  const std::string index = std::visit([i](const auto& numbers) { return std::to_string(numbers[i]); }, view);
  return "the coordinate " + index + " in mode " + std::to_string(mode) + " is " +
         (index.front() == '-' ? "negative" : "not below the mode's length of " + std::to_string(length)) +
         "; coordinates count from 0";
}

}  // namespace blco
