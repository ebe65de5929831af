// Values: the first exact codec is taken, and every bit comes back.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"

namespace blco {
namespace {

std::vector<double> decode(const std::vector<std::byte>& payload, std::size_t count) {
  const PayloadView view = check_payload(payload, count);
  std::vector<double> values((count + 255) / 256 * 256);
  for (std::uint64_t frame = 0; frame < values.size() / 256; ++frame) {
    decode_value_frame(view, frame, values.data() + 256 * frame);
  }
  values.resize(count);
  return values;
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> all;
  for (const double value : values) all.push_back(std::bit_cast<std::uint64_t>(value));
  return all;
}

struct CodecCase {
  const char* name;
  Codec codec;
  std::vector<double> values;
};

std::vector<double> repeat(std::vector<double> pattern, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(pattern[i % pattern.size()]);
  return values;
}

class EveryCodec : public testing::TestWithParam<CodecCase> {};

TEST_P(EveryCodec, IsChosenAndExactAtEverySize) {
  for (const std::size_t count : {1ul, 255ul, 256ul, 257ul, 1000ul}) {
    const auto values = repeat(GetParam().values, std::max(count, GetParam().values.size()));

    const auto payload = encode_values(values);

    ASSERT_EQ(check_payload(payload, values.size()).codec, GetParam().codec);
    ASSERT_EQ(bits(decode(payload, values.size())), bits(values));
    ASSERT_LE(payload.size(), max_payload_bytes(values.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Values, EveryCodec,
    testing::Values(CodecCase{"counts", Codec::integer, {1, 2, 1, 7, 1, 141}},
                    CodecCase{"zeros", Codec::integer, {0, 1}}, CodecCase{"equal", Codec::integer, {5}},
                    CodecCase{"negative", Codec::integer, {-3, 12, -900000}},
                    CodecCase{"largest_integers", Codec::integer, {9007199254740991.0, -9007199254740991.0, 1}},
                    CodecCase{"past_integers", Codec::f32, {9007199254740992.0, 1}},
                    CodecCase{"tenths", Codec::decimal, {0.1, 2.5, -7.3}},
                    CodecCase{"hundredths", Codec::decimal, {0.01, 19.99, 5}},
                    CodecCase{"six_digits", Codec::decimal, {0.123456, 31.415927}},
                    CodecCase{"minus_zero", Codec::f32, {-0.0, 1}},
                    CodecCase{"long_binary_fractions", Codec::f32, {0x1p-30, 0x1.8p10, 0x1.000002p5}},
                    CodecCase{"doubles", Codec::f64, {3.141592653589793, 2.718281828459045, 1e300}},
                    CodecCase{"tiny", Codec::f64, {5e-324, 1, -2.2250738585072014e-308}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Values, AreDividedByAPowerOfTwoAsTheyAreDecoded) {
  const std::vector<std::vector<double>> kinds{repeat({1}, 300), repeat({3, -7, 40}, 300),
                                               repeat({0.25, 1.37, -9.99}, 300), repeat({0x1.000002p5, -3}, 300),
                                               repeat({3.141592653589793, 1e300}, 300)};
  for (const int exponent : {-200, -1, 3, 66}) {
    for (const std::vector<double>& values : kinds) {
      const std::vector<std::byte> payload = encode_values(values);
      std::vector<double> divided(512);

      for (const std::uint64_t frame : {0u, 1u}) {
        decode_value_frame(view_values(payload, exponent), frame, divided.data() + 256 * frame);
      }

      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(divided[i], std::ldexp(values[i], -exponent)) << values[i] << " / 2^" << exponent;
      }
    }
  }
}

TEST(Values, OnesTakeNoPayload) { EXPECT_TRUE(encode_values(std::vector<double>(1000, 1.0)).empty()); }

TEST(Values, OnesCanBeStoredWhereAChunkCannotBeLeftOut) {
  const std::vector<double> ones(300, 1.0);

  const auto payload = encode_stored_values(ones);

  EXPECT_EQ(decode(payload, 300), ones);
}

TEST(Values, SmallCountsTakeFewBits) {
  std::mt19937 random(9);
  std::vector<double> counts(1 << 16);
  for (double& count : counts) count = 1 + std::floor(-std::log(1 - std::uniform_real_distribution<double>()(random)));

  const auto payload = encode_values(counts);

  EXPECT_LT(8.0 * static_cast<double>(payload.size()) / static_cast<double>(counts.size()), 3.0);
}

TEST(Values, OneHugeValueDoesNotWidenTheOthers) {
  std::vector<double> values(1 << 14, 3.0);
  values[7] = -1e15;
  values[8000] = 1e15;

  const auto payload = encode_values(values);

  EXPECT_LT(payload.size(), 1000);
  EXPECT_EQ(decode(payload, values.size()), values);
}

}  // namespace
}  // namespace blco
