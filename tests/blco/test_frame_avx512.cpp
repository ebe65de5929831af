// The AVX-512 loops against plain ones.
#include <gtest/gtest.h>

#include <array>
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
