// Frames: every sequence comes back, and the widths chosen are the cheapest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "blco/frame.hpp"
#include "blco/frame_encoder.hpp"
#include "tests/blco/frame_values.hpp"

namespace blco {
namespace {

struct EncodedFrame {
  FrameShape shape;
  std::vector<std::byte> bytes;
};

EncodedFrame encode(const std::vector<std::uint64_t>& values, FrameCoding coding, std::uint64_t base) {
  EncodedFrame frame;
  frame.shape = encode_frame(values, coding, base, frame.bytes);
  frame.bytes.resize(frame.bytes.size() + 8);
  return frame;
}

TEST(Frame, RoundTripsEverySequence) {
  for (const NamedValues& named : frame_test_values()) {
    for (const FrameCoding coding : {FrameCoding::differences, FrameCoding::plain}) {
      const EncodedFrame frame = encode(named.values, coding, /*base=*/1000);

      std::vector<std::uint64_t> back(frame_entries);
      decode_frame(frame.bytes.data(), frame.shape, coding, 1000, back.data());

      back.resize(named.values.size());
      ASSERT_EQ(back, named.values) << named.name;
      ASSERT_EQ(frame.bytes.size(), frame_bytes(frame.shape) + 8);
    }
  }
}

TEST(Frame, IsTheSameWhereOneThreadOfADeviceWritesIt) {
  for (const NamedValues& named : frame_test_values()) {
    for (const FrameCoding coding : {FrameCoding::differences, FrameCoding::plain}) {
      for (const std::uint64_t base : {std::uint64_t{1000}, named.values[0]}) {
        EncodedFrame expected = encode(named.values, coding, base);
        expected.bytes.resize(expected.bytes.size() - 8);
        std::vector<std::uint64_t> column(frame_entries, 9);  // the second frame of two
        column.insert(column.end(), named.values.begin(), named.values.end());

        const ColumnFrame<std::uint64_t> frame(column.data(), column.size(), 1);
        const FramePlan plan = plan_frame(frame, coding, base);
        std::vector<std::uint64_t> words(frame_bytes(plan.shape) / 8, ~std::uint64_t{0});
        write_frame(frame, coding, plan, words.data());

        ASSERT_EQ(pack_descriptor(plan.shape), pack_descriptor(expected.shape)) << named.name;
        ASSERT_TRUE(std::ranges::equal(std::as_bytes(std::span(words)), expected.bytes)) << named.name;
      }
    }
  }
}

TEST(Frame, DescriptorHoldsEveryShape) {
  for (const FrameShape shape :
       {FrameShape{0, 0, 0, false}, {64, 0, 0, true}, {0, 64, 256, true}, {13, 51, 255, false}}) {
    const FrameShape back = unpack_descriptor(pack_descriptor(shape));

    EXPECT_EQ(back.width, shape.width);
    EXPECT_EQ(back.high_width, shape.high_width);
    EXPECT_EQ(back.exceptions, shape.exceptions);
    EXPECT_EQ(back.own_base, shape.own_base);
  }
}

TEST(Frame, ConstantFrameAtThePayloadsBaseTakesNoBytes) {
  const EncodedFrame frame = encode(std::vector<std::uint64_t>(256, 42), FrameCoding::differences, 42);

  EXPECT_EQ(frame_bytes(frame.shape), 0);
}

TEST(Frame, PatchesOneOutlierInsteadOfWideningAllEntries) {
  std::vector<std::uint64_t> values(256);
  for (std::size_t i = 0; i < 256; ++i) values[i] = i % 8;
  values[100] = std::uint64_t{1} << 50;

  const EncodedFrame frame = encode(values, FrameCoding::plain, 0);

  EXPECT_EQ(frame.shape.width, 3);
  EXPECT_EQ(frame.shape.exceptions, 1);
  // 3 bits each, then 48 high bits, one position, and padding to a multiple of 8.
  EXPECT_EQ(frame_bytes(frame.shape), 96 + 8);
}

TEST(Frame, NoOtherShapeIsSmaller) {
  for (const NamedValues& named : frame_test_values()) {
    const FrameShape chosen = encode(named.values, FrameCoding::plain, 0).shape;
    std::vector<std::uint64_t> entries(frame_entries, 0);
    for (std::size_t i = 0; i < named.values.size(); ++i) entries[i] = named.values[i];

    for (int width = 0; width <= 64; ++width) {
      FrameShape other{width, 0, 0, false};
      for (const std::uint64_t entry : entries) {
        const int high = width == 64 || entry >> width == 0 ? 0 : 64 - std::countl_zero(entry >> width);
        other.exceptions += high > 0 ? 1 : 0;
        other.high_width = std::max(other.high_width, high);
      }
      ASSERT_LE(frame_bytes(chosen), frame_bytes(other)) << named.name << ", width " << width;
    }
  }
}

}  // namespace
}  // namespace blco
