// Bit extract and deposit against one bit at a time.
#include <gtest/gtest.h>

#include <random>

#include "blco/bits.hpp"

namespace blco {
namespace {

std::uint64_t slow_pext(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t result = 0;
  int place = 0;
  for (int bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    result |= (value >> bit & 1) << place++;
  }
  return result;
}

std::uint64_t slow_pdep(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t result = 0;
  int place = 0;
  for (int bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    result |= (value >> place++ & 1) << bit;
  }
  return result;
}

TEST(Bits, BothFormsAgreeWithOneBitAtATime) {
  std::mt19937_64 random(1);

  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t value = random();
    const std::uint64_t mask = i == 0   ? 0
                               : i == 1 ? ~std::uint64_t{0}
                                        : random() & (i % 2 == 0 ? random() : ~std::uint64_t{0});

    ASSERT_EQ(pext(value, mask), slow_pext(value, mask));
    ASSERT_EQ(pext_portable(value, mask), slow_pext(value, mask));
    ASSERT_EQ(pdep(value, mask), slow_pdep(value, mask));
    ASSERT_EQ(pdep_portable(value, mask), slow_pdep(value, mask));
  }
}

}  // namespace
}  // namespace blco
