// Decoded rows against TensorLayout::delinearize, for both ways of extracting bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "kernels/host/frame_rows.hpp"
#include "tests/kernels/held_cases.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

std::vector<std::vector<std::uint64_t>> shapes() {
  return {{1},
          {1, 2},
          {4000},
          {97, 33, 65},
          {256, 256, 256, 256, 256, 256, 256, 100},
          {256, 256, 256, 256, 256, 256, 256, 200},
          {8192, 8000, 5000, 8191, 4097},
          {2000, 1500, 1025, 2048, 1030, 1200},
          {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 5, 3000},
          {1500, 1025, 2000, 2048, 1100, 1200, 1300, 1900},
          std::vector<std::uint64_t>(16, 200),
          {std::uint64_t{1} << 32, std::uint64_t{1} << 32, std::uint64_t{1} << 32, std::uint64_t{1} << 32}};
}

// All its frames, as chunks are decoded that stay so.
void decode_as_kept(const FrameDecoder& decoder, const FrameSource& source, FrameRing& ring) {
  DecodedChunk decoded = decoder.make_decoded(source);
  for (std::uint64_t frame = 0; frame < source.frames(); ++frame) decoder.decode_into(source, frame, ring, decoded);
}

class FrameRows : public ::testing::TestWithParam<BitExtraction> {
 protected:
  void SetUp() override {
    if (GetParam() == BitExtraction::pext && !has_fast_pext()) GTEST_SKIP() << "this CPU has no fast pext";
  }

  static void expect_rows(const CooTensor& tensor, const EncodedChunk& chunk, const FrameDecoder& decoder,
                          const FrameSource& source) {
    FrameRing ring(static_cast<int>(tensor.order()));
    for (std::uint64_t frame = 0; frame < source.frames(); ++frame) {
      decoder.decode(source, frame, ring);
      const std::size_t half = frame % 2 * frame_entries;
      for (std::size_t i = 0; i < static_cast<std::size_t>(source.entries_of(frame)); ++i) {
        const std::size_t entry = frame * frame_entries + i;
        ASSERT_EQ(ring.values()[half + i], tensor.values[entry]);
        for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
          ASSERT_EQ(ring.rows(static_cast<int>(mode))[half + i], tensor.coordinate(entry, mode))
              << "entry " << entry << " of mode " << mode << ", chunk " << chunk.number;
        }
      }
    }
  }
};

TEST_P(FrameRows, AreTheCoordinates) {
  for (const auto& shape : shapes()) {
    for (const double skew : {1.0, 30.0}) {
      const auto tensor = random_tensor({.shape = shape, .nnz = 1300, .seed = 1, .skew = skew});
      const EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 0);
      const FrameDecoder decoder(TensorLayout(shape), GetParam());

      const FrameSource source = decoder.open(chunk.view());

      expect_rows(tensor, chunk, decoder, source);
    }
  }
}

TEST_P(FrameRows, OfADecodedChunkAreTheCoordinates) {
  for (const auto& shape : shapes()) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 1300, .seed = 2, .skew = 4.0});
    const EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 0);
    const FrameDecoder decoder(TensorLayout(shape), GetParam());
    const FrameSource packed = decoder.open(chunk.view());
    DecodedChunk decoded = decoder.make_decoded(packed);
    FrameRing ring(static_cast<int>(shape.size()));

    for (std::uint64_t frame = packed.frames(); frame-- > 0;) decoder.decode_into(packed, frame, ring, decoded);
    FrameSource source = packed;
    source.index = source.key = source.value = {};
    source.decoded = &decoded;

    expect_rows(tensor, chunk, decoder, source);
  }
}

TEST_P(FrameRows, StayWithinTheChunksBounds) {
  const auto tensor = random_tensor({.shape = {97, 33, 65}, .nnz = 300, .seed = 3});
  const FrameDecoder decoder(TensorLayout(tensor.shape), GetParam());
  FrameRing ring(3);
  for (std::size_t mode = 0; mode < 3; ++mode) {
    EncodedChunk low = encode_chunk(tensor, 0, 250, 5);
    EncodedChunk high = low;
    ++low.lower[mode];
    --high.upper[mode];

    EXPECT_THROW(decoder.decode(decoder.open(low.view()), 0, ring), Error);
    EXPECT_THROW(decoder.decode(decoder.open(high.view()), 0, ring), Error);
  }
}

// Frames of any lines, ascending or not, that fill a box of any size, and the same with one nonzero next to the box.
TEST_P(FrameRows, AreRefusedWhereOneLiesNextToTheBounds) {
  std::mt19937_64 random(7);
  for (const auto& shape :
       {std::vector<std::uint64_t>{97, 33, 65}, {13, 4000, 3, 250}, {8192, 8000, 5000, 8191, 4097}}) {
    const TensorLayout layout(shape);
    const FrameDecoder decoder(layout, GetParam());
    FrameRing ring(static_cast<int>(shape.size()));
    for (int round = 0; round < 50; ++round) {
      CooTensor tensor{shape, {}, std::vector<double>(1 + random() % 256, 1.0)};
      std::vector<std::uint64_t> lower;
      std::vector<std::uint64_t> upper;
      for (const std::uint64_t length : shape) {
        lower.push_back(random() % length);
        upper.push_back(lower.back() + random() % std::min(length - lower.back(), std::uint64_t{1} << random() % 13));
      }
      for (std::size_t i = 0; i < tensor.nnz(); ++i) {
        for (std::size_t mode = 0; mode < shape.size(); ++mode) {
          tensor.coordinates.push_back(lower[mode] + random() % (upper[mode] - lower[mode] + 1));
        }
      }
      const auto encoded = [&](const CooTensor& of) {
        EncodedChunk chunk = encode_chunk(of, 0, of.nnz(), 0);
        chunk.lower = lower;
        chunk.upper = upper;
        return chunk;
      };
      const EncodedChunk inside = encoded(tensor);
      EXPECT_NO_THROW(decoder.decode(decoder.open(inside.view()), 0, ring));
      EXPECT_NO_THROW(decode_as_kept(decoder, decoder.open(inside.view()), ring));
      for (std::size_t mode = 0; mode < shape.size(); ++mode) {
        for (const bool above : {false, true}) {
          if (above ? upper[mode] + 1 == shape[mode] : lower[mode] == 0) continue;
          CooTensor moved = tensor;
          const std::size_t entry = random() % tensor.nnz();
          moved.coordinates[entry * shape.size() + mode] = above ? upper[mode] + 1 : lower[mode] - 1;
          const EncodedChunk outside = encoded(moved);
          EXPECT_THROW(decoder.decode(decoder.open(outside.view()), 0, ring), Error);
          EXPECT_THROW(decode_as_kept(decoder, decoder.open(outside.view()), ring), Error);
        }
      }
    }
  }
}

TEST_P(FrameRows, PastTheEndAreSafeWhetherProvedOrNot) {
  // The payloads have more nonzeros than the chunk, the others out of bounds.
  for (const auto& shape : {std::vector<std::uint64_t>{64, 64, 64}, std::vector<std::uint64_t>(5, 8192)}) {
    CooTensor tensor = random_tensor({.shape = shape, .nnz = 300, .seed = 5});
    for (std::size_t i = 0; i < tensor.coordinates.size(); ++i) tensor.coordinates[i] = i < 270 * shape.size() ? 7 : 63;
    EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 0);
    chunk.nnz = 270;
    chunk.lower.assign(shape.size(), 5);
    chunk.upper.assign(shape.size(), 9);
    const FrameDecoder decoder(TensorLayout(shape), GetParam());
    FrameRing ring(static_cast<int>(shape.size()));
    FrameSource source = decoder.open(chunk.view());
    for (const bool proved : {false, true}) {
      source.rows_proved = proved;

      decoder.decode(source, 1, ring);

      for (std::size_t i = 0; i < frame_entries; ++i) {
        for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
          EXPECT_EQ(ring.rows(mode)[frame_entries + i], i < 14 ? 7U : 5U);
        }
      }
      if (!decoder.decodes_to_lines()) continue;
      const std::uint64_t* const lines = decoder.lines_of(source, 1, ring).indices;
      for (std::size_t i = 1; i < frame_entries; ++i) EXPECT_EQ(lines[i], lines[0]);
    }
  }
}

TEST_P(FrameRows, OfModesWithHeldRowsAreTheirPlaces) {
  for (const auto& shape : {std::vector<std::uint64_t>{97, 33, 65}, {1, 700}, {8192, 8000, 5000, 8191, 4097}}) {
    const CooTensor tensor = random_tensor({.shape = shape, .nnz = 700, .seed = 6});
    const EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 0);
    for (const ModeSet modes : held_modes(shape.size())) {
      const HeldCase held(tensor, modes);
      CooTensor expected = tensor;
      for (std::size_t i = 0; i < expected.coordinates.size(); ++i) {
        const auto& rows = held.rows(i % shape.size());
        expected.coordinates[i] =
            static_cast<std::uint64_t>(std::ranges::lower_bound(rows, tensor.coordinates[i]) - rows.begin());
      }
      const FrameDecoder decoder(TensorLayout(shape), GetParam(), held.index());
      FrameRing ring(static_cast<int>(shape.size()));

      FrameSource source = decoder.open(chunk.view());
      expect_rows(expected, chunk, decoder, source);
      DecodedChunk decoded = decoder.make_decoded(source);
      for (std::uint64_t f = 0; f < source.frames(); ++f) decoder.decode_into(source, f, ring, decoded);
      source.decoded = &decoded;
      source.rows_proved = true;
      expect_rows(expected, chunk, decoder, source);

      EXPECT_FALSE(decoder.decodes_to_lines());
      const std::uint64_t last = source.frames() - 1;
      decoder.decode(source, last, ring);
      const EncodedChunk bounds = encode_chunk(expected, 0, expected.nnz(), 0);
      for (std::size_t mode = 0; mode < shape.size(); ++mode) {
        EXPECT_EQ(source.places[mode].lower, bounds.lower[mode]);
        EXPECT_EQ(source.places[mode].upper, bounds.upper[mode]);
        EXPECT_EQ(ring.rows(static_cast<int>(mode))[last % 2 * frame_entries + 255], bounds.lower[mode]);
      }
      const std::uint64_t* const keys = decoded.keys.size() > 0 ? decoded.keys.data() + 100 : nullptr;
      decoder.expand({decoded.indices.data() + 100, keys, nullptr, 256}, ring);
      for (std::size_t i = 0; i < 256; ++i) {
        for (std::size_t mode = 0; mode < shape.size(); ++mode) {
          ASSERT_EQ(ring.rows(static_cast<int>(mode))[i], expected.coordinate(100 + i, mode));
        }
      }
    }
  }
}

TEST_P(FrameRows, AreRefusedFromAChunkOfWhichNoRowIsHeld) {
  const CooTensor tensor = random_tensor({.shape = {97, 33, 65}, .nnz = 300, .seed = 3});
  EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 5);
  chunk.lower[1] = 7;
  chunk.upper[1] = 20;
  const FrameDecoder decoder(TensorLayout(tensor.shape), GetParam(),
                             {nullptr, index_of(std::vector<std::uint64_t>{6, 21}, 33), nullptr});

  EXPECT_THROW(static_cast<void>(decoder.open(chunk.view())), Error);
}

TEST_P(FrameRows, AreRefusedFromAChunkWithoutItsColumns) {
  const std::vector<std::uint64_t> shape(9, 250);
  const auto tensor = random_tensor({.shape = shape, .nnz = 300, .seed = 4});
  const FrameDecoder decoder(TensorLayout(shape), GetParam());
  EncodedChunk no_index = encode_chunk(tensor, 0, 250, 0);
  EncodedChunk no_key = no_index;
  EncodedChunk too_long = no_index;
  EncodedChunk out_of_bounds = no_index;
  EncodedChunk values_for_keys = no_index;
  EncodedChunk keys_for_values = no_index;
  no_index.index.clear();
  no_key.key.clear();
  too_long.nnz = 251;
  out_of_bounds.upper[2] = 250;
  values_for_keys.index = values_for_keys.value;
  keys_for_values.value = keys_for_values.index;

  for (const EncodedChunk& chunk : {no_index, no_key, too_long, out_of_bounds, values_for_keys, keys_for_values}) {
    EXPECT_THROW(static_cast<void>(decoder.open(chunk.view())), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(BothExtractions, FrameRows, ::testing::Values(BitExtraction::pext, BitExtraction::tables),
                         [](const auto& which) { return which.param == BitExtraction::pext ? "pext" : "tables"; });

}  // namespace
}  // namespace blco::testing
