// The AVX-512 loops against plain ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "blco/frame.hpp"
#include "blco/frame_avx512.hpp"

namespace blco {
namespace {

using Entries = std::array<std::uint64_t, frame_entries>;

class FrameAvx512 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_frame_avx512()) GTEST_SKIP() << "this CPU has no AVX-512";
  }
  std::mt19937_64 random_{7};
};

TEST_F(FrameAvx512, UnpacksFieldsOfEveryWidthAndReadsNoFurther) {
  for (int width = 0; width <= 64; ++width) {
    // As long as the fields: the address sanitizer sees a read past their end.
    std::vector<std::byte> packed(static_cast<std::size_t>(width) * frame_entries / 8);
    for (std::byte& byte : packed) byte = static_cast<std::byte>(random_());
    Entries values;

    unpack_avx512(packed.data(), width, frame_entries / 8, values.data());

    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t expected = 0;
      for (std::size_t bit = 0; bit < static_cast<std::size_t>(width); ++bit) {
        const std::size_t at = i * static_cast<std::size_t>(width) + bit;
        expected |= (std::to_integer<std::uint64_t>(packed[at / 8]) >> at % 8 & 1) << bit;
      }
      ASSERT_EQ(values[i], expected) << "entry " << i << " of width " << width;
    }
  }
}

TEST_F(FrameAvx512, PacksTheLowBitsAtEveryWidthAndWritesNoFurther) {
  for (int width = 1; width <= 64; ++width) {
    Entries values;
    for (std::uint64_t& value : values) value = random_();
    std::vector<std::byte> packed(static_cast<std::size_t>(width) * frame_entries / 8);

    pack_avx512(values.data(), width, packed.data());

    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      const std::size_t entry = bit / static_cast<std::size_t>(width);
      const std::uint64_t expected = values[entry] >> bit % static_cast<std::size_t>(width) & 1;
      ASSERT_EQ(std::to_integer<std::uint64_t>(packed[bit / 8]) >> bit % 8 & 1, expected)
          << "bit " << bit << " of width " << width;
    }
  }
}

TEST_F(FrameAvx512, TellsTheBitWidthOfEveryEntry) {
  Entries values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i < 65 ? (i == 0 ? 0 : ~std::uint64_t{0} >> (64 - i)) : random_() >> i % 64;
  std::array<std::uint8_t, frame_entries> widths;

  bit_widths_avx512(values.data(), widths.data());

  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(widths[i], std::bit_width(values[i])) << values[i];
}

TEST_F(FrameAvx512, WidensARangeByMaskedNumbers) {
  constexpr std::uint64_t mask = 0xf0f0000000f0f0f0;
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<std::uint64_t> numbers(count);
    for (std::uint64_t& number : numbers) number = random_();
    std::uint64_t least = mask, largest = 0x10;
    std::uint64_t expected_least = least, expected_largest = largest;
    for (const std::uint64_t number : numbers) {
      expected_least = std::min(expected_least, number & mask);
      expected_largest = std::max(expected_largest, number & mask);
    }

    widen_range_avx512(numbers.data(), numbers.size(), mask, least, largest);

    EXPECT_EQ(least, expected_least);
    EXPECT_EQ(largest, expected_largest);
  }
}

TEST_F(FrameAvx512, AddsUpDifferencesModulo2To64) {
  Entries values;
  for (std::uint64_t& value : values) value = random_();
  Entries expected;
  std::uint64_t sum = 12345;
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] = sum += values[i];

  scan_avx512(12345, values.data());

  EXPECT_EQ(values, expected);
}

TEST_F(FrameAvx512, AddsABaseModulo2To64) {
  Entries values;
  for (std::uint64_t& value : values) value = random_();
  Entries expected = values;
  for (std::uint64_t& value : expected) value += 0xfedcba9876543210;

  add_avx512(0xfedcba9876543210, values.data());

  EXPECT_EQ(values, expected);
}

TEST_F(FrameAvx512, DividesToTheSameBitsAsADivision) {
  double power = 1;
  for (int exponent = 0; exponent <= 15; ++exponent, power *= 10) {
    for (int round = 0; round < 200; ++round) {
      Entries integers;
      for (std::size_t i = 0; i < integers.size(); ++i) {
        // Of every magnitude and both signs; the ends of the range among them.
        const auto magnitude = static_cast<std::int64_t>(random_() >> (11 + random_() % 53));
        integers[i] = static_cast<std::uint64_t>(i % 2 == 0 ? magnitude : -magnitude);
      }
      integers[0] = 0;
      integers[1] = (std::uint64_t{1} << 53) - 1;
      std::array<double, frame_entries> quotients;

      divide_avx512(integers.data(), power, quotients.data());

      for (std::size_t i = 0; i < integers.size(); ++i) {
        const double expected = static_cast<double>(static_cast<std::int64_t>(integers[i])) / power;
        ASSERT_EQ(quotients[i], expected) << static_cast<std::int64_t>(integers[i]) << " / " << power;
        ASSERT_EQ(std::signbit(quotients[i]), std::signbit(expected));
      }
    }
  }
}

}  // namespace
}  // namespace blco
