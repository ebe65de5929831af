// Rows "name value" and small histograms, as blco-info prints them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace blco::info {

template <class Value>
void print_row(const char* name, const Value& value) {
  fmt::print("{:<12}{}\n", name, value);
}

// `label_bytes` is the memory of each mode's labels, 0 without; or empty.
void print_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                 const std::vector<std::uint64_t>& label_bytes);

struct Bar {
  std::string label;
  std::uint64_t count = 0;
};

// Prints one line per bar: label, count, share of the total, and a bar in proportion to the largest.
void print_bars(const std::vector<Bar>& bars);

}  // namespace blco::info
