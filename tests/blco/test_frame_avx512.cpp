// The AVX-512 loops against plain ones.
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

#include "blco/frame.hpp"
#include "blco/frame_loops.hpp"

namespace blco {
namespace {

using Entries = std::array<std::uint64_t, frame_entries>;

class FrameAvx512 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_frame_avx512()) GTEST_SKIP() << "this CPU has no AVX-512";
  }
  std::mt19937_64 random_{7};
};

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

TEST_F(FrameAvx512, DecodesEveryShapeAndReadsNoFurther) {
  for (int width = 0; width <= 64; ++width) {
    for (const int exceptions : {0, 1, 7, 8, 9, 100, 256}) {
      if (width == 64 && exceptions > 0) continue;
      const int high_width = exceptions == 0 ? 0 : 1 + static_cast<int>(random_() % static_cast<unsigned>(64 - width));
      const FrameShape shape{width, high_width, exceptions, random_() % 2 == 0};
      const GuardedBytes frame(frame_bytes(shape));
      randomize(frame.bytes(), shape, random_);
      std::uint64_t base = 12345;
      Entries sums = entries_of(frame.bytes(), shape);
      Entries plain;
      Entries running;

      decode_frame_avx512(frame.data(), shape, FrameCoding::plain, base, plain.data());
      decode_frame_avx512(frame.data(), shape, FrameCoding::differences, base, running.data());

      if (shape.own_base) std::memcpy(&base, frame.data(), sizeof(base));
      std::uint64_t sum = base;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(plain[i], base + sums[i]) << "entry " << i << " of width " << width << " and " << exceptions;
        ASSERT_EQ(running[i], sum += sums[i]) << "entry " << i << " of width " << width << " and " << exceptions;
      }
    }
  }
}

TEST_F(FrameAvx512, PacksTheLowBitsAtEveryWidthAndWritesNoFurther) {
  for (int width = 1; width <= 64; ++width) {
    Entries values;
    for (std::uint64_t& value : values) value = random_();
    const GuardedBytes guarded(static_cast<std::size_t>(width) * frame_entries / 8);
    const std::span<const std::byte> packed = guarded.bytes();

    pack_avx512(values.data(), width, guarded.data());

    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      const std::size_t entry = bit / static_cast<std::size_t>(width);
      const std::uint64_t expected = values[entry] >> bit % static_cast<std::size_t>(width) & 1;
      ASSERT_EQ(std::to_integer<std::uint64_t>(packed[bit / 8]) >> bit % 8 & 1, expected)
          << "bit " << bit << " of width " << width;
    }
  }
}

// A file has the same bytes wherever it was written, and the same numbers wherever it is read.
TEST_F(FrameAvx512, PacksAndDecodesAsAnyProcessorDoes) {
  for (int width = 1; width <= 64; ++width) {
    const FrameShape shape{width, width == 64 ? 0 : 64 - width, width == 64 ? 0 : 3 * width, width % 2 == 0};
    Entries values;
    for (std::uint64_t& value : values) value = random_();
    std::vector<std::byte> packed(static_cast<std::size_t>(width) * frame_entries / 8 + 8);
    std::vector<std::byte> portable = packed;
    std::vector<std::byte> frame(frame_bytes(shape) + 8);
    randomize(std::span(frame).first(frame_bytes(shape)), shape, random_);

    pack_avx512(values.data(), width, packed.data());
    pack_portable(values.data(), width, portable.data());

    ASSERT_EQ(packed, portable) << "width " << width;
    for (const FrameCoding coding : {FrameCoding::plain, FrameCoding::differences}) {
      Entries decoded;
      Entries expected;
      decode_frame_avx512(frame.data(), shape, coding, 7, decoded.data());
      decode_frame_portable(frame.data(), shape, coding, 7, expected.data());
      ASSERT_EQ(decoded, expected) << "width " << width;
    }
  }
}

TEST_F(FrameAvx512, TellsTheBitWidthOfEveryEntry) {
  Entries values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i < 65 ? (i == 0 ? 0 : ~std::uint64_t{0} >> (64 - i)) : random_() >> i % 64;
  std::array<std::uint8_t, frame_entries> widths;

  bit_widths_avx512(values.data(), widths.data());

  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(widths[i], std::bit_width(values[i])) << values[i];
}

TEST_F(FrameAvx512, DividesToTheSameBitsAsADivision) {
  double power = 1;
  for (int exponent = 0; exponent <= 15; ++exponent, power *= 10) {
    for (int round = 0; round < 200; ++round) {
      Entries integers;
      for (std::size_t i = 0; i < integers.size(); ++i) {
        // Of every magnitude and both signs; the ends of the range among them.
        const auto magnitude = static_cast<std::int64_t>(random_() >> (11 + random_() % 53));
        integers[i] = static_cast<std::uint64_t>(i % 2 == 0 ? magnitude : -magnitude);
      }
      integers[0] = 0;
      integers[1] = (std::uint64_t{1} << 53) - 1;
      std::vector<std::byte> frame;
      const FrameShape shape = encode_frame(integers, FrameCoding::plain, 1000, frame);
      std::array<double, frame_entries> quotients;

      decode_quotients_avx512(frame.data(), shape, 1000, power, quotients.data());

      for (std::size_t i = 0; i < integers.size(); ++i) {
        const double expected = static_cast<double>(static_cast<std::int64_t>(integers[i])) / power;
        ASSERT_EQ(quotients[i], expected) << static_cast<std::int64_t>(integers[i]) << " / " << power;
        ASSERT_EQ(std::signbit(quotients[i]), std::signbit(expected));
      }
    }
  }
}

}  // namespace
}  // namespace blco
