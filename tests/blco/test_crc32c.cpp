// CRC32C against the check values of RFC 3720, appendix B.4.
#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

#include "blco/crc32c.hpp"

namespace blco {
namespace {

std::vector<std::byte> repeated(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST(Crc32c, GivesTheCheckValuesOfRfc3720) {
  const std::string_view digits = "123456789";
  std::vector<std::byte> ascending(32);
  for (std::size_t i = 0; i < 32; ++i) ascending[i] = static_cast<std::byte>(i);

  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283u);
  EXPECT_EQ(crc32c(repeated(32, 0)), 0x8a9136aau);
  EXPECT_EQ(crc32c(repeated(32, 255)), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c_portable(ascending), 0x46dd794eu);
}

TEST(Crc32c, FastAndPortableFormsAgreeAtEveryLength) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(10000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());

  for (const std::size_t size : {0ul, 1ul, 7ul, 8ul, 9ul, 1023ul, 3071ul, 3072ul, 3073ul, 6144ul, 9999ul, 10000ul}) {
    const std::span<const std::byte> part(bytes.data(), size);
    EXPECT_EQ(crc32c(part), crc32c_portable(part)) << size;
  }
}

TEST(Crc32c, ContinuesAcrossPieces) {
  std::vector<std::byte> bytes = repeated(5000, 42);
  bytes[4321] = std::byte{1};
  const std::span<const std::byte> all(bytes);

  EXPECT_EQ(crc32c(all.subspan(1234), crc32c(all.first(1234))), crc32c(all));
}

}  // namespace
}  // namespace blco
