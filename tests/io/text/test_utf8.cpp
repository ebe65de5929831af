// What is UTF-8: compared with encoding every code point, and with all short sequences of bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

std::string utf8_of(std::uint32_t code) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

TEST(Utf8, TakesEveryCharacterAndNoPartOfOne) {
  for (std::uint32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const std::string character = utf8_of(code);
    ASSERT_EQ(find_invalid_utf8(character), std::nullopt) << code;
    if (character.size() == 1) continue;
    ASSERT_EQ(find_invalid_utf8("ab" + character.substr(0, character.size() - 1)), 2U) << code;
    ASSERT_EQ(find_invalid_utf8("12345678" + character.substr(1) + "12345678"), 8U) << code;
  }
}

TEST(Utf8, RefusesAllOtherSequencesOfUpToThreeBytes) {
  std::vector<bool> of_two(1U << 16);
  std::vector<bool> of_three(1U << 24);
  for (std::uint32_t code = 0x80; code < 0x10000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::uint32_t bytes = 0;
    for (const char c : utf8_of(code)) bytes = bytes << 8 | static_cast<unsigned char>(c);
    (code < 0x800 ? of_two : of_three)[bytes] = true;
  }

  for (std::uint32_t bytes = 0xc20000; bytes < 1U << 24; ++bytes) {
    const std::array text = {static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
    const bool begins_with_two = of_two[bytes >> 8];
    const bool expected = begins_with_two ? (bytes & 0xff) < 0x80 : of_three[bytes];
    const auto found = find_invalid_utf8({text.data(), text.size()});
    ASSERT_EQ(!found, expected) << bytes;
    ASSERT_TRUE(expected || found == (begins_with_two ? 2U : 0U)) << bytes;
  }
}

TEST(Utf8, RefusesSurrogatesAndWhatLiesAboveTheLastCharacter) {
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0U);
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0U);
  EXPECT_EQ(find_invalid_utf8("\xf0\x8f\xbf\xbf"), 0U);
  EXPECT_EQ(find_invalid_utf8("caf\xe9 au lait"), 3U);
}

}  // namespace
}  // namespace blco
