// The linear order against the paper's worked example and against bits placed one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"

namespace blco {
namespace {

using Shape = std::vector<std::uint64_t>;
__extension__ typedef unsigned __int128 Wide;

// The rule of blco/FORMAT.md, taken literally: level by level, the mode with fewer bits first, then the lower mode
// number.
Wide line_by_levels(const Shape& shape, const std::vector<std::uint64_t>& coordinates) {
  std::vector<std::size_t> modes(shape.size());
  std::iota(modes.begin(), modes.end(), std::size_t{0});
  const auto bits = [&](std::size_t n) { return std::bit_width(shape[n] - 1); };
  std::stable_sort(modes.begin(), modes.end(), [&](std::size_t a, std::size_t b) { return bits(a) < bits(b); });
  Wide line = 0;
  int place = 0;
  for (int level = 0; level < 64; ++level) {
    for (const std::size_t n : modes) {
      if (level < static_cast<int>(bits(n))) line |= static_cast<Wide>(coordinates[n] >> level & 1) << place++;
    }
  }
  return line;
}

Shape shape_of_bits(const std::vector<int>& bits) {
  Shape shape;
  for (const int b : bits) shape.push_back(b == 0 ? 1 : b == 64 ? ~std::uint64_t{0} : std::uint64_t{1} << b);
  return shape;
}

TEST(Layout, GivesTheLineIndicesOfThePapersExample) {
  // Nguyen et al., ICS 2022, figures 4 and 6; one-based coordinates.
  const TensorLayout layout(Shape{4, 4, 4});
  const std::vector<std::array<std::uint64_t, 3>> points = {{1, 1, 1}, {1, 1, 2}, {2, 1, 2}, {3, 1, 2},
                                                            {4, 2, 2}, {2, 1, 3}, {1, 3, 3}, {4, 3, 3},
                                                            {4, 3, 4}, {3, 4, 4}, {4, 4, 4}};

  std::vector<std::uint64_t> lines;
  for (const auto& [i, j, k] : points) lines.push_back(layout.linearize(std::vector{i - 1, j - 1, k - 1}).low);

  EXPECT_THAT(lines, testing::ElementsAre(0, 4, 5, 12, 15, 33, 48, 57, 61, 62, 63));
}

class EveryLineWidth : public testing::TestWithParam<std::vector<int>> {};

TEST_P(EveryLineWidth, RoundTripsAndFollowsTheRule) {
  const Shape shape = shape_of_bits(GetParam());
  const TensorLayout layout(shape);
  const ByteTables tables = make_index_tables(layout);
  const ByteTables key_tables = make_key_tables(layout);
  std::mt19937_64 random(5);

  for (int trial = 0; trial < 500; ++trial) {
    std::vector<std::uint64_t> point(shape.size());
    for (std::size_t n = 0; n < shape.size(); ++n) {
      point[n] = trial == 0 ? 0 : trial == 1 ? shape[n] - 1 : random() % shape[n];
    }
    const LineIndex line = layout.linearize(point);
    std::vector<std::uint64_t> back(shape.size());
    layout.delinearize(line, back);
    std::uint64_t blco = 0;
    std::uint64_t high_fields = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      blco |= tables.byte[byte][line.low >> (8 * byte) & 255];
      high_fields |= key_tables.byte[byte][line.key >> (8 * byte) & 255];
    }

    ASSERT_EQ(back, point);
    ASSERT_TRUE((static_cast<Wide>(line.key) << 64 | line.low) == line_by_levels(shape, point));
    for (std::size_t n = 0; n < shape.size(); ++n) {
      const ModeLayout& mode = layout.mode(static_cast<int>(n));
      ASSERT_EQ(blco >> mode.shift & mode.field, point[n] & mode.field);
      if (mode.high_bits > 0) {
        const std::uint64_t field = ~std::uint64_t{0} >> (64 - mode.high_bits);
        ASSERT_EQ(high_fields >> mode.high_shift & field, point[n] >> mode.low_bits);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layout, EveryLineWidth,
                         testing::Values(std::vector{0}, std::vector{0, 0, 0}, std::vector{1}, std::vector{64},
                                         std::vector{0, 64}, std::vector{21, 21, 21}, std::vector{22, 21, 21},
                                         std::vector{22, 22, 21}, std::vector{22, 22, 22}, std::vector{40, 5, 29},
                                         std::vector{30, 28, 30}, std::vector{64, 64}, std::vector{1, 63, 64},
                                         std::vector{32, 32, 32, 32}, std::vector<int>(16, 8),
                                         std::vector{12, 13, 0, 18, 7, 3, 1, 20}));

// A line whose bits have these modes, placed one by one.
Wide line_by_places(const BitModes& bits, const std::vector<std::uint64_t>& coordinates) {
  Wide line = 0;
  std::vector<int> level(coordinates.size());
  for (std::size_t place = 0; place < bits.size(); ++place) {
    line |= static_cast<Wide>(coordinates[bits[place]] >> level[bits[place]]++ & 1) << place;
  }
  return line;
}

TEST_P(EveryLineWidth, RoundTripsInAnyOrderOfBits) {
  const Shape shape = shape_of_bits(GetParam());
  std::mt19937_64 random(3);
  BitModes bits = natural_bit_modes(shape);
  for (int order = 0; order < 20; ++order) {
    std::ranges::shuffle(bits, random);
    const TensorLayout layout(shape, bits);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::uint64_t> point;
      for (const std::uint64_t length : shape) point.push_back(random() % length);

      const LineIndex line = layout.linearize(point);
      std::vector<std::uint64_t> back(shape.size());
      layout.delinearize(line, back);

      EXPECT_EQ(static_cast<Wide>(line.key) << 64 | line.low, line_by_places(bits, point));
      EXPECT_EQ(back, point);
    }
    EXPECT_EQ(layout.bit_modes(), bits);
  }
}

TEST(Layout, PutsTheBitsOfAModeOnTop) {
  const Shape shape = {4, 16, 8};

  EXPECT_THAT(natural_bit_modes(shape), testing::ElementsAre(0, 2, 1, 0, 2, 1, 2, 1, 1));
  EXPECT_THAT(bit_modes_of(shape, 0), testing::ElementsAre(2, 1, 2, 1, 2, 1, 1, 0, 0));
  EXPECT_THAT(bit_modes_of(shape, 0, 1), testing::ElementsAre(1, 1, 1, 1, 2, 2, 2, 0, 0));
  EXPECT_THAT(bit_modes_of(shape, 2, 0), testing::ElementsAre(0, 0, 1, 1, 1, 1, 2, 2, 2));
  EXPECT_TRUE(TensorLayout(shape, bit_modes_of(shape, 2, 0)).is_sorted_by(2));
  EXPECT_FALSE(TensorLayout(shape, bit_modes_of(shape, 2, 0)).is_sorted_by(1));
  EXPECT_FALSE(TensorLayout(shape).is_sorted_by(1));
  EXPECT_TRUE(TensorLayout(Shape{1, 5}).is_sorted_by(0));
  EXPECT_TRUE(TensorLayout(Shape{1, 5}).is_sorted_by(1));
}

TEST(Layout, RefusesBitsThatAreNotThoseOfTheModes) {
  const Shape shape = {4, 16};
  for (const BitModes& bits : {BitModes{0, 1, 1, 1, 1}, BitModes{0, 0, 1, 1, 1, 1, 1}, BitModes{0, 0, 1, 1, 1, 2}}) {
    EXPECT_THROW(TensorLayout(shape, bits), Error);
  }
}

TEST(Layout, OrdersLinesByKeyThenLow) {
  EXPECT_LT((LineIndex{.key = 1, .low = 9}), (LineIndex{.key = 2, .low = 3}));
  EXPECT_LT((LineIndex{.key = 2, .low = 3}), (LineIndex{.key = 2, .low = 4}));
}

void expect_refused(const Shape& shape, const std::string& part) {
  try {
    const TensorLayout layout(shape);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(Layout, RefusesWhatItCannotHold) {
  expect_refused({}, "order 0");
  expect_refused(Shape(17, 2), "order 17");
  expect_refused({4, 0, 4}, "mode 1 has length 0");
  expect_refused(shape_of_bits({64, 64, 1}), "129 bits");
  expect_refused(shape_of_bits({64, 64, 1}), "mode 2: 1");
}

}  // namespace
}  // namespace blco
