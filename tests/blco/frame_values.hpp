// Sequences of 256 entries that try every width, sign and exception.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace blco {

struct NamedValues {
  std::string name;
  std::vector<std::uint64_t> values;
};

inline std::vector<NamedValues> frame_test_values() {
  std::mt19937_64 random(7);
  std::vector<NamedValues> all;
  const auto add = [&](std::string name, std::size_t count, auto next) {
    NamedValues named{std::move(name), {}};
    for (std::size_t i = 0; i < count; ++i) named.values.push_back(next(i));
    all.push_back(std::move(named));
  };
  for (const std::size_t count : {1ul, 2ul, 255ul, 256ul}) {
    add("constant", count, [](std::size_t) { return std::uint64_t{77}; });
    add("steps of one", count, [](std::size_t i) { return 1000 + i; });
    add("any 64 bits", count, [&](std::size_t) { return random(); });
  }
  for (int width = 0; width <= 64; ++width) {
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    std::uint64_t running = random();
    add("random steps", 256, [&](std::size_t) { return running += random() & mask; });
    running = 5;
    add("steps with rare jumps", 256,
        [&](std::size_t i) { return running += (i % 50 == 49 ? random() : random() & mask); });
    add("values with rare outliers", 256, [&](std::size_t i) { return i % 61 == 3 ? random() : random() & mask; });
  }
  add("falling", 256, [](std::size_t i) { return 100000 - 3 * i; });
  add("around zero, signed", 256,
      [](std::size_t i) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(i) - 128); });
  return all;
}

}  // namespace blco
