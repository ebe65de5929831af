// Files of dump_launch: the device's memory, numbers, and bytes as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/sass/recording_runtime.hpp"

namespace blco::testing {

template <class Number>
void write_numbers(std::ofstream& file, std::span<const Number> numbers) {
  file.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size_bytes()));
}

// Writes all ranges one after the other; returns [address, bytes] of each.
inline nlohmann::json write_device_memory(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  nlohmann::json ranges = nlohmann::json::array();
  for (const auto range : device_ranges()) {
    write_numbers(file, range);
    ranges.push_back({reinterpret_cast<std::uintptr_t>(range.data()), range.size()});
  }
  file.flush();
  if (!file) throw std::runtime_error("cannot write " + path);
  return ranges;
}

// Two digits a byte.
template <class Object>
std::string hex(const Object& object) {
  std::string text;
  for (const std::byte byte : std::as_bytes(std::span(&object, 1))) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace blco::testing
