// Repeated coordinates are counted exactly while cells are few, and estimated in bounded memory beyond that.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "engine/predict/repeat_count.hpp"

namespace blco {
namespace {

// Cell i of `cells` has 1 + i % 5 entries, which are spread over the whole input.
std::uint64_t count_repeats(std::uint64_t cells, RepeatCount& count) {
  std::uint64_t repeats = 0;
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < cells; ++i) {
      if (round > i % 5) continue;
      count.add(std::array{i % 1000, i / 1000, std::uint64_t{3}});
      repeats += round > 0 ? 1 : 0;
    }
  }
  return repeats;
}

TEST(RepeatCount, IsExactForFewCells) {
  for (const std::uint64_t cells : {0, 1, 2, 5, 8192}) {
    RepeatCount count;

    const std::uint64_t expected = count_repeats(cells, count);

    EXPECT_EQ(count.repeats(), expected) << cells;
  }
}

TEST(RepeatCount, IsNearForManyCells) {
  RepeatCount count;

  const auto expected = static_cast<double>(count_repeats(300'000, count));

  EXPECT_NEAR(static_cast<double>(count.repeats()), expected, 0.06 * expected);
}

}  // namespace
}  // namespace blco
