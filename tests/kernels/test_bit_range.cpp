// Ranges of masked words against a plain loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/bit_range.hpp"

namespace blco {
namespace {

TEST(BitRange, IsThatOfAPlainLoopForEveryLength) {
  std::mt19937_64 random(3);
  for (const std::uint64_t mask : {std::uint64_t{0}, std::uint64_t{0xf0f0000000f0f0f0}, ~std::uint64_t{0}}) {
    for (std::size_t count = 0; count < 70; ++count) {
      std::vector<std::uint64_t> words(count);
      for (std::uint64_t& word : words) word = random();
      BitRange expected{mask, 0};
      for (const std::uint64_t word : words) {
        expected.lower = std::min(expected.lower, word & mask);
        expected.upper = std::max(expected.upper, word & mask);
      }

      const BitRange range = range_of_bits(words, mask);

      EXPECT_EQ(range.lower, expected.lower) << count;
      EXPECT_EQ(range.upper, expected.upper) << count;
    }
  }
}

TEST(BitRange, BoxHasTheBitsOfAllWordsAndOfAny) {
  std::mt19937_64 random(5);
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t& word : words) word = random() | random();

    const BitRange box = box_of_bits(words);

    for (int bit = 0; bit < 64; ++bit) {
      const auto is_set = [&](std::uint64_t word) { return (word >> bit & 1) != 0; };
      EXPECT_EQ(is_set(box.lower), std::ranges::all_of(words, is_set)) << count;
      EXPECT_EQ(is_set(box.upper), std::ranges::any_of(words, is_set)) << count;
    }
  }
}

}  // namespace
}  // namespace blco
