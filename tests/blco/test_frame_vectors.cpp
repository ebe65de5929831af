// The loops of each vector level against plain ones.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "blco/bits.hpp"
#include "blco/frame.hpp"
#include "blco/frame_loops.hpp"
#include "blco/vector_level.hpp"
#include "tests/blco/frame_values.hpp"

namespace blco {
namespace {

using Entries = std::array<std::uint64_t, frame_entries>;

struct Loops {
  VectorLevel level;
  const char* name;
  decltype(&pack_portable) pack;
  decltype(&bit_widths_portable) bit_widths;
  decltype(&decode_frame_portable) decode;
  decltype(&decode_quotients_portable) decode_quotients;
  std::size_t read_behind;     // bytes that decoding may read past a frame
  std::size_t written_behind;  // and packing write past the fields, in whole words
};

constexpr Loops portable_loops{VectorLevel::portable,
                               "Portable",
                               pack_portable,
                               bit_widths_portable,
                               decode_frame_portable,
                               decode_quotients_portable,
                               8,
                               8};
constexpr Loops avx2_loops{VectorLevel::avx2,     "Avx2", pack_avx2, bit_widths_avx2, decode_frame_avx2,
                           decode_quotients_avx2, 8,      0};
constexpr Loops avx512_loops{
    VectorLevel::avx512, "Avx512", pack_avx512, bit_widths_avx512, decode_frame_avx512, decode_quotients_avx512, 0, 0};

class FrameVectors : public ::testing::TestWithParam<Loops> {
 protected:
  void SetUp() override {
    if (processor_vector_level() < GetParam().level) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }
  std::mt19937_64 random_{7};
};

INSTANTIATE_TEST_SUITE_P(Levels, FrameVectors, ::testing::Values(portable_loops, avx2_loops, avx512_loops),
                         [](const auto& which) { return which.param.name; });

// `width` bits from bit `bit` on, one by one.
std::uint64_t field_of(const std::byte* bytes, std::size_t bit, int width) {
  std::uint64_t field = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
    field |= (std::to_integer<std::uint64_t>(bytes[(bit + i) / 8]) >> (bit + i) % 8 & 1) << i;
  }
  return field;
}

// Bytes that end where no memory is: a read or a write past them ends the test.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size)
      : mapped_bytes_(size / page_bytes * page_bytes + 2 * page_bytes),
        mapped_(static_cast<std::byte*>(
            ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        size_(size) {
    ::mprotect(end(), page_bytes, PROT_NONE);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(mapped_, mapped_bytes_); }

  std::byte* data() const { return end() - size_; }
  std::span<std::byte> bytes() const { return {data(), size_}; }

 private:
  static constexpr std::size_t page_bytes = 4096;
  std::byte* end() const { return mapped_ + mapped_bytes_ - page_bytes; }

  std::size_t mapped_bytes_;
  std::byte* mapped_;
  std::size_t size_;
};

// Fills a frame with random bits.
void randomize(std::span<std::byte> frame, FrameShape shape, std::mt19937_64& random) {
  for (std::byte& byte : frame) byte = static_cast<std::byte>(random());
  std::array<std::uint8_t, frame_entries> positions;
  std::iota(positions.begin(), positions.end(), std::uint8_t{0});
  std::shuffle(positions.begin(), positions.end(), random);
  if (random() % 2 == 0) std::ranges::fill(positions, positions[0]);  // no encoder does that
  std::copy_n(std::as_bytes(std::span(positions)).begin(), shape.exceptions,
              frame.begin() + static_cast<std::ptrdiff_t>(positions_offset(shape)));
}

// What FrameShape says, field by field.
Entries entries_of(std::span<const std::byte> frame, FrameShape shape) {
  Entries entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = field_of(frame.data() + packed_offset(shape), i * static_cast<std::size_t>(shape.width), shape.width);
  }
  for (std::size_t e = 0; e < static_cast<std::size_t>(shape.exceptions); ++e) {
    const auto position = std::to_integer<std::size_t>(frame[positions_offset(shape) + e]);
    const std::size_t bit = e * static_cast<std::size_t>(shape.high_width);
    entries[position] |= field_of(frame.data() + high_offset(shape), bit, shape.high_width) << shape.width;
  }
  return entries;
}

TEST_P(FrameVectors, DecodesEveryShapeAndReadsNoFurther) {
  for (int width = 0; width <= 64; ++width) {
    for (const int exceptions : {0, 1, 7, 8, 9, 100, 256}) {
      if (width == 64 && exceptions > 0) continue;
      const int high_width = exceptions == 0 ? 0 : 1 + static_cast<int>(random_() % static_cast<unsigned>(64 - width));
      const FrameShape shape{width, high_width, exceptions, random_() % 2 == 0};
      const GuardedBytes guarded(frame_bytes(shape) + GetParam().read_behind);
      const std::span<std::byte> frame = guarded.bytes().first(frame_bytes(shape));
      randomize(frame, shape, random_);
      std::uint64_t base = 12345;
      Entries sums = entries_of(frame, shape);
      Entries plain;
      Entries running;

      GetParam().decode(frame.data(), shape, FrameCoding::plain, base, plain.data());
      GetParam().decode(frame.data(), shape, FrameCoding::differences, base, running.data());

      if (shape.own_base) std::memcpy(&base, frame.data(), sizeof(base));
      std::uint64_t sum = base;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(plain[i], base + sums[i]) << "entry " << i << " of width " << width << " and " << exceptions;
        ASSERT_EQ(running[i], sum += sums[i]) << "entry " << i << " of width " << width << " and " << exceptions;
      }
    }
  }
}

TEST_P(FrameVectors, PacksTheLowBitsAtEveryWidthAndWritesNoFurther) {
  for (int width = 1; width <= 64; ++width) {
    Entries values;
    for (std::uint64_t& value : values) value = random_();
    const std::size_t bytes = static_cast<std::size_t>(width) * frame_entries / 8;
    const GuardedBytes guarded(bytes + GetParam().written_behind);
    const std::span<const std::byte> packed = guarded.bytes().first(bytes);

    GetParam().pack(values.data(), width, guarded.data());

    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      const std::size_t entry = bit / static_cast<std::size_t>(width);
      const std::uint64_t expected = values[entry] >> bit % static_cast<std::size_t>(width) & 1;
      ASSERT_EQ(std::to_integer<std::uint64_t>(packed[bit / 8]) >> bit % 8 & 1, expected)
          << "bit " << bit << " of width " << width;
    }
  }
}

// A file has the same bytes wherever it was written, and the same numbers wherever it is read.
TEST_P(FrameVectors, PacksAndDecodesAsAnyProcessorDoes) {
  for (int width = 1; width <= 64; ++width) {
    const FrameShape shape{width, width == 64 ? 0 : 64 - width, width == 64 ? 0 : 3 * width, width % 2 == 0};
    Entries values;
    for (std::uint64_t& value : values) value = random_();
    std::vector<std::byte> packed(static_cast<std::size_t>(width) * frame_entries / 8 + 8);
    std::vector<std::byte> portable = packed;
    std::vector<std::byte> frame(frame_bytes(shape) + 8);
    randomize(std::span(frame).first(frame_bytes(shape)), shape, random_);

    GetParam().pack(values.data(), width, packed.data());
    pack_portable(values.data(), width, portable.data());

    ASSERT_EQ(packed, portable) << "width " << width;
    for (const FrameCoding coding : {FrameCoding::plain, FrameCoding::differences}) {
      Entries decoded;
      Entries expected;
      GetParam().decode(frame.data(), shape, coding, 7, decoded.data());
      decode_frame_portable(frame.data(), shape, coding, 7, expected.data());
      ASSERT_EQ(decoded, expected) << "width " << width;
    }
  }
}

TEST_P(FrameVectors, TellsTheBitWidthOfEveryEntry) {
  Entries values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i < 65 ? (i == 0 ? 0 : ~std::uint64_t{0} >> (64 - i)) : random_() >> i % 64;
  std::array<std::uint8_t, frame_entries> widths;

  GetParam().bit_widths(values.data(), widths.data());

  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(widths[i], std::bit_width(values[i])) << values[i];
}

// Integers of up to `bits` bits around `middle`, of every magnitude and both signs; the ends of the range among them.
Entries integers_around(std::int64_t middle, int bits, std::mt19937_64& random) {
  Entries integers;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const auto magnitude = static_cast<std::int64_t>(random() >> 11 >> (53 - bits) >> random() % 53);
    integers[i] = static_cast<std::uint64_t>(middle + (i % 2 == 0 ? magnitude : -magnitude));
  }
  const auto most = static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
  integers[0] = static_cast<std::uint64_t>(middle);
  integers[1] = static_cast<std::uint64_t>(middle + most);
  integers[2] = static_cast<std::uint64_t>(middle - most);
  return integers;
}

TEST_P(FrameVectors, DividesToTheSameBitsAsADivision) {
  constexpr std::int64_t far = std::int64_t{1} << 51;
  double power = 1;
  for (int exponent = 0; exponent <= 15; ++exponent, power *= 10) {
    for (int round = 0; round < 4 * 53; ++round) {
      const int bits = 53 - round / 4;
      const std::int64_t middle = round % 4 == 0 || bits > 51 ? 0
                                  : round % 4 == 1            ? far
                                  : round % 4 == 2            ? -far
                                                              : -1000;
      const Entries integers = integers_around(middle, bits, random_);
      std::vector<std::byte> frame;
      const FrameShape shape = encode_frame(integers, FrameCoding::plain, 1000, frame);
      frame.resize(frame.size() + GetParam().read_behind);
      std::array<double, frame_entries> quotients;

      GetParam().decode_quotients(frame.data(), shape, 1000, power, quotients.data());

      for (std::size_t i = 0; i < integers.size(); ++i) {
        const double expected = static_cast<double>(static_cast<std::int64_t>(integers[i])) / power;
        ASSERT_EQ(quotients[i], expected) << static_cast<std::int64_t>(integers[i]) << " / " << power;
        ASSERT_EQ(std::signbit(quotients[i]), std::signbit(expected));
      }
    }
  }
}

class VectorLevelLimit : public ::testing::Test {
 protected:
  void TearDown() override { limit_vector_level(VectorLevel::avx512); }
};

TEST_F(VectorLevelLimit, IsTheMostThatLoopsUse) {
  EXPECT_EQ(vector_level(), processor_vector_level());
  for (const VectorLevel most : {VectorLevel::avx512, VectorLevel::avx2, VectorLevel::portable}) {
    limit_vector_level(most);

    EXPECT_EQ(vector_level(), std::min(most, processor_vector_level()));
  }
  EXPECT_FALSE(has_fast_pext());
}

TEST_F(VectorLevelLimit, ChangesNoByteOfAFrameAndNoEntry) {
  for (const NamedValues& named : frame_test_values()) {
    for (const FrameCoding coding : {FrameCoding::plain, FrameCoding::differences}) {
      for (const VectorLevel most : {VectorLevel::portable, VectorLevel::avx2, VectorLevel::avx512}) {
        limit_vector_level(most);
        std::vector<std::byte> bytes;
        const FrameShape shape = encode_frame(named.values, coding, 1000, bytes);
        limit_vector_level(VectorLevel::portable);
        std::vector<std::byte> expected;
        encode_frame(named.values, coding, 1000, expected);
        ASSERT_EQ(bytes, expected) << named.name;

        bytes.resize(bytes.size() + 8);
        Entries back;
        limit_vector_level(most);
        decode_frame(bytes.data(), shape, coding, 1000, back.data());

        for (std::size_t i = 0; i < named.values.size(); ++i) ASSERT_EQ(back[i], named.values[i]) << named.name;
      }
    }
  }
}

}  // namespace
}  // namespace blco
