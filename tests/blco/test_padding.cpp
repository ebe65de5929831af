// Payloads whose unused bytes are not as the format says.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"

namespace blco {
namespace {

using Bytes = std::vector<std::byte>;

// Aligned like the buffers that payloads lie in.
std::string refusal(const Bytes& bytes) {
  std::vector<std::uint64_t> aligned(bytes.size() / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  try {
    check_padding(std::as_bytes(std::span(aligned)));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    return error.what();
  }
  return "accepted";
}

// Numbers that grow by one or two, but by far more at three places: exceptions.
Bytes line_payload(std::size_t count) {
  std::vector<std::uint64_t> column;
  std::uint64_t line = 5;
  for (std::size_t i = 0; i < count; ++i)
    column.push_back(line += i == 7 || i == 260 || i == 261 ? 1 << 20 : 1 + i % 2);
  return encode_line_column(column);
}

FrameShape shape_of(const Bytes& payload, std::size_t frame) {
  std::uint32_t descriptor = 0;
  std::memcpy(&descriptor, payload.data() + sizeof(PayloadHeader) + 8 * frame + 4, 4);
  return unpack_descriptor(descriptor);
}

std::size_t frame_start(const Bytes& payload, std::size_t frame) {
  std::uint32_t offset = 0;
  std::memcpy(&offset, payload.data() + sizeof(PayloadHeader) + 8 * frame, 4);
  return 8 * static_cast<std::size_t>(offset);
}

TEST(Padding, IsRightInEveryCodecAsWritten) {
  for (const std::size_t count : {1, 7, 255, 256, 257, 300, 1000}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i % 5) + (i == 3 ? 1e6 : 0));
    EXPECT_EQ(refusal(line_payload(count)), "accepted");
    for (const double scale : {1.0, 0.1, 1.0 / 3, 1.0 / 1024}) {
      std::vector<double> scaled;
      for (const double value : values) scaled.push_back((value + 2) * scale);
      EXPECT_EQ(refusal(encode_values(scaled)), "accepted") << count << " values times " << scale;
    }
  }
}

TEST(Padding, RefusesATailThatIsNotZero) {
  Bytes payload = line_payload(300);
  payload.back() = std::byte{1};

  EXPECT_EQ(refusal(payload), "the last 8 bytes of the payload are not zero");
}

TEST(Padding, RefusesFieldsPastTheLastEntry) {
  Bytes payload = line_payload(300);
  const FrameShape shape = shape_of(payload, 1);
  ASSERT_GT(shape.width, 0);
  // Entry 44 of the second frame is the first that does not exist.
  const std::size_t bit = 44 * static_cast<std::size_t>(shape.width);
  payload[frame_start(payload, 1) + packed_offset(shape) + bit / 8] |= std::byte{1} << (bit % 8);

  EXPECT_EQ(refusal(payload), "frame 1: its fields past the last entry are not zero");
}

TEST(Padding, RefusesExceptionsThatShareAnEntryOrLiePastTheEnd) {
  const Bytes payload = line_payload(300);
  const FrameShape shape = shape_of(payload, 1);
  ASSERT_GE(shape.exceptions, 2);
  const std::size_t first = frame_start(payload, 1) + positions_offset(shape);

  Bytes shared = payload;
  shared[first + 1] = shared[first];
  EXPECT_EQ(refusal(shared), "frame 1: the positions of its exceptions do not ascend");
  Bytes beyond = payload;
  beyond[first + static_cast<std::size_t>(shape.exceptions) - 1] = std::byte{44};
  EXPECT_EQ(refusal(beyond), "frame 1: an exception lies past the last entry");
}

TEST(Padding, RefusesBytesBehindAFrameAndBehindFloats) {
  Bytes payload = line_payload(300);
  const FrameShape shape = shape_of(payload, 0);
  const std::size_t used = positions_offset(shape) + static_cast<std::size_t>(shape.exceptions);
  ASSERT_LT(used, frame_bytes(shape));
  payload[frame_start(payload, 0) + used] = std::byte{9};
  EXPECT_EQ(refusal(payload), "frame 0: its padding is not zero");

  Bytes floats = encode_values(std::vector<double>{0.333251953125, 1e-20F, 3e20F});
  ASSERT_EQ(static_cast<Codec>(floats[6]), Codec::f32);
  floats[sizeof(PayloadHeader) + 12] = std::byte{1};
  EXPECT_EQ(refusal(floats), "the padding behind the values is not zero");
}

TEST(Padding, RefusesAnExponentWithoutDecimals) {
  Bytes payload = line_payload(10);
  payload[7] = std::byte{2};

  EXPECT_EQ(refusal(payload), "the payload has an exponent, but not codec decimal");
}

}  // namespace
}  // namespace blco
