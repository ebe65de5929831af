// Payloads: line columns round trip at every size, and no damaged byte goes unseen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "blco/chunk.hpp"
#include "blco/error.hpp"
#include "blco/payload.hpp"

namespace blco {
namespace {

std::vector<std::uint64_t> random_column(std::size_t count, std::uint64_t step, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> column(count);
  std::uint64_t running = 0;
  for (std::uint64_t& value : column) value = running += random() % step;
  return column;
}

std::vector<std::uint64_t> decode_column(const PayloadView& payload) {
  std::vector<std::uint64_t> column((payload.count + 255) / 256 * 256);
  for (std::uint64_t frame = 0; frame < column.size() / 256; ++frame) {
    decode_line_frame(payload, frame, column.data() + 256 * frame);
  }
  column.resize(payload.count);
  return column;
}

TEST(Payload, LineColumnsRoundTripAtEverySize) {
  for (const std::size_t count : {1ul, 2ul, 255ul, 256ul, 257ul, 511ul, 512ul, 513ul, 10000ul}) {
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
      const auto column = random_column(count, step, count);

      const auto payload = encode_line_column(column);

      ASSERT_EQ(decode_column(check_payload(payload, count)), column);
      ASSERT_LE(payload.size(), max_payload_bytes(count));
      ASSERT_EQ(payload.size() % 8, 0);
    }
  }
}

TEST(Payload, ConstantColumnCostsAQuarterOfABitPerEntry) {
  const auto payload = encode_line_column(std::vector<std::uint64_t>(1 << 16, 123456789));

  EXPECT_EQ(payload.size(), sizeof(PayloadHeader) + 256 * sizeof(FrameEntry) + payload_padding);
}

TEST(Payload, IsCheckedWithTheSumOfItsPieces) {
  const auto column = random_column(5000, 1000, 7);
  const std::vector<std::byte> payload = encode_line_column(column);
  const auto sum_in_pieces = [](std::span<const std::byte> bytes, std::size_t piece) {
    PayloadChecksum checksum;
    for (std::size_t first = 0; first < bytes.size(); first += piece) {
      checksum.add(bytes.subspan(first, std::min(piece, bytes.size() - first)));
    }
    return checksum;
  };
  std::vector<std::byte> damaged = payload;
  damaged[payload.size() / 2] ^= std::byte{16};

  for (const std::size_t piece : {sizeof(PayloadHeader), std::size_t{33}, std::size_t{1000}, payload.size()}) {
    EXPECT_EQ(check_payload(payload, column.size(), sum_in_pieces(payload, piece)).count, column.size());
    EXPECT_THROW(check_payload(damaged, column.size(), sum_in_pieces(damaged, piece)), Error) << piece;
  }
}

TEST(ChunkView, IsOneRangeWhereItsPayloadsFollowEachOtherAtMultiplesOf256) {
  const std::vector<std::byte> memory(2000);
  const std::span<const std::byte> bytes(memory);
  ChunkView chunk;
  chunk.payload = {bytes.subspan(64, 300), {}, bytes.subspan(64 + 512, 256)};

  EXPECT_EQ(chunk.contiguous().data(), memory.data() + 64);
  EXPECT_EQ(chunk.contiguous().size(), 512u + 256u);
  chunk.payload[1] = bytes.subspan(64 + 512, 10);
  EXPECT_TRUE(chunk.contiguous().empty()) << "two in one place";
  chunk.payload[2] = bytes.subspan(64 + 512 + 256, 1);
  EXPECT_EQ(chunk.contiguous().size(), 512u + 256u + 1u);
  chunk.payload[2] = bytes.subspan(64 + 512 + 64, 1);
  EXPECT_TRUE(chunk.contiguous().empty()) << "too near";
  EXPECT_TRUE(ChunkView{}.contiguous().empty());
}

TEST(Payload, EveryFlippedBitIsSeen) {
  const auto column = random_column(300, 1000, 1);
  const auto whole = encode_line_column(column);

  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);

    EXPECT_THROW(check_payload(damaged, column.size()), Error) << "bit " << bit;
  }
}

TEST(Payload, RefusesWrongLengthsAndCounts) {
  const auto whole = encode_line_column(random_column(300, 1000, 2));

  for (const std::size_t size : {0ul, 1ul, 31ul, 39ul, 40ul, whole.size() - 8, whole.size() - 1}) {
    EXPECT_THROW(check_payload(std::span(whole).first(size), 300), Error) << size;
  }
  EXPECT_THROW(check_payload(whole, 301), Error);
}

TEST(Payload, ShuffledValuesComeBack) {
  std::vector<double> values(777);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (double& value : values) value = normal(random);
  const auto payload = encode_values(values);
  ASSERT_EQ(check_payload(payload, 777).codec, Codec::f64);

  std::vector<std::byte> shuffled(payload.size());
  shuffle_f64(payload, shuffled);
  std::vector<std::byte> back(payload.size());
  unshuffle_f64(shuffled, back);

  EXPECT_EQ(check_payload(shuffled, 777).codec, Codec::f64_shuffled);
  EXPECT_NE(shuffled, payload);
  EXPECT_EQ(back, payload);
}

}  // namespace
}  // namespace blco
