// Chooses a value codec, exact to the bit, and decodes values.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "blco/coalesce_values.hpp"
#include "blco/frame_loops.hpp"
#include "blco/payload.hpp"
#include "blco/payload_builder.hpp"
#include "blco/vector_level.hpp"

namespace blco {
namespace {

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// Rounds to the nearest integer; without a call below 2^51.
double to_integer(double value) {
  constexpr double shift = 0x1.8p52;
  return std::abs(value) < 0x1p51 ? (value + shift) - shift : std::nearbyint(value);
}

// The m for which m / 10^exponent is exactly `value`, if there is one below 2^53.
std::optional<std::int64_t> scaled(double value, int exponent) {
  const double power = power_of_ten[static_cast<std::size_t>(exponent)];
  const double product = to_integer(value * power);
  if (!(std::abs(product) < exact_integer_limit)) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(product);
  if (!same_bits(static_cast<double>(integer) / power, value)) return std::nullopt;
  return integer;
}

// The smallest exponent that serves all values (0: all are integers). A value m / 10^k also equals 10 m / 10^(k+1), so
// the exponent only grows.
std::optional<int> common_exponent(std::span<const double> values) {
  if (std::ranges::all_of(values, is_integer)) return 0;
  int exponent = 0;
  for (const double value : values) {
    while (!scaled(value, exponent)) {
      if (++exponent > max_decimal_exponent) return std::nullopt;
    }
  }
  // A larger exponent may have pushed an earlier value past 2^53.
  const bool all = std::all_of(values.begin(), values.end(), [&](double v) { return scaled(v, exponent).has_value(); });
  return all ? std::optional(exponent) : std::nullopt;
}

bool all_ones(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 1.0; });
}

bool fits_f32(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) {
    return std::abs(v) <= static_cast<double>(std::numeric_limits<float>::max()) &&
           same_bits(static_cast<double>(static_cast<float>(v)), v);
  });
}

// Calls visit() with the integers of each frame in turn.
template <class Visit>
void for_each_frame(std::span<const double> values, int exponent, const Visit& visit) {
  std::array<std::uint64_t, frame_entries> frame;
  for (std::size_t first = 0; first < values.size(); first += frame_entries) {
    const std::size_t count = std::min<std::size_t>(frame_entries, values.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = values[first + i];
      frame[i] =
          static_cast<std::uint64_t>(exponent == 0 ? static_cast<std::int64_t>(value) : *scaled(value, exponent));
    }
    visit(std::span<const std::uint64_t>(frame.data(), count));
  }
}

std::vector<std::byte> encode_scaled(std::span<const double> values, int exponent, std::vector<std::byte> space) {
  std::vector<std::int64_t> smallest;
  for_each_frame(values, exponent, [&](std::span<const std::uint64_t> frame) {
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    for (const std::uint64_t integer : frame) min = std::min(min, static_cast<std::int64_t>(integer));
    smallest.push_back(min);
  });
  PayloadBuilder builder(exponent == 0 ? Codec::integer : Codec::decimal, values.size(), exponent,
                         static_cast<std::uint64_t>(shared_base(std::move(smallest))), std::move(space));
  builder.reserve_table();
  for_each_frame(values, exponent,
                 [&](std::span<const std::uint64_t> frame) { builder.add_frame(frame, FrameCoding::plain); });
  return builder.finish();
}

std::vector<std::byte> encode_f32(std::span<const double> values, std::vector<std::byte> space) {
  std::vector<float> narrow(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) narrow[i] = static_cast<float>(values[i]);
  PayloadBuilder builder(Codec::f32, values.size(), 0, 0, std::move(space));
  builder.add_raw(std::as_bytes(std::span<const float>(narrow)));
  return builder.finish();
}

std::vector<std::byte> encode_f64(std::span<const double> values, std::vector<std::byte> space) {
  PayloadBuilder builder(Codec::f64, values.size(), 0, 0, std::move(space));
  builder.add_raw(std::as_bytes(values));
  return builder.finish();
}

// Widens by bit operations: if denormals are flushed to zero, a float conversion would lose those of f32.
double widen(std::uint32_t single) {
  constexpr std::uint64_t exponent_bias = 1023 - 127;
  const std::uint64_t sign = std::uint64_t{single >> 31} << 63;
  const std::uint64_t exponent = single >> 23 & 255;
  const std::uint64_t fraction = single & 0x7fffff;
  if (exponent != 0) return std::bit_cast<double>(sign | (exponent + exponent_bias) << 52 | fraction << 29);
  const double magnitude = static_cast<double>(fraction) * 0x1p-149;
  return sign != 0 ? -magnitude : magnitude;
}

void multiply(double* frame, double factor) {
  for (std::size_t i = 0; i < frame_entries; ++i) frame[i] *= factor;
}

std::size_t entries_of_frame(const PayloadView& payload, std::uint64_t frame) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(frame_entries, payload.count - frame * frame_entries));
}

}  // namespace

std::int64_t shared_base(std::vector<std::int64_t> smallest) {
  std::sort(smallest.begin(), smallest.end());
  std::int64_t best = 0;
  std::ptrdiff_t best_count = 0;
  for (auto from = smallest.begin(); from != smallest.end();) {
    const auto to = std::upper_bound(from, smallest.end(), *from);
    if (to - from > best_count) {
      best = *from;
      best_count = to - from;
    }
    from = to;
  }
  return best;
}

std::vector<std::byte> encode_values(std::span<const double> values, std::vector<std::byte> space) {
  if (all_ones(values)) {
    space.clear();
    return space;
  }
  return encode_stored_values(values, std::move(space));
}

std::vector<std::byte> encode_stored_values(std::span<const double> values, std::vector<std::byte> space) {
  const std::optional<int> exponent = common_exponent(values);
  if (exponent && *exponent == 0) return encode_scaled(values, 0, std::move(space));
  const bool narrow = fits_f32(values);
  if (exponent) {
    std::vector<std::byte> decimal = encode_scaled(values, *exponent, std::move(space));
    // Fractions with a power of two in the denominator are decimals too, but long ones.
    if (!narrow) return decimal;
    std::vector<std::byte> single = encode_f32(values, {});
    return decimal.size() <= single.size() ? decimal : single;
  }
  return narrow ? encode_f32(values, std::move(space)) : encode_f64(values, std::move(space));
}

void decode_value_frame(const PayloadView& payload, std::uint64_t frame, double* out) {
  const double factor = 1 / payload.divisor;  // exact but for decimals, which are divided
  if (payload.bytes == nullptr) {
    std::fill_n(out, frame_entries, factor);
    return;
  }
  switch (payload.codec) {
    case Codec::integer:
    case Codec::decimal: {
      const FrameShape shape = unpack_descriptor(payload.entry(frame).descriptor);
      const auto decode = at_vector_level(decode_quotients_portable, decode_quotients_avx2, decode_quotients_avx512);
      decode(payload.frame(frame), shape, payload.base, payload.divisor, out);
      break;
    }
    case Codec::f32: {
      std::array<std::uint32_t, frame_entries> singles{};
      const std::size_t count = entries_of_frame(payload, frame);
      std::memcpy(singles.data(), payload.raw() + 4 * frame * frame_entries, 4 * count);
      std::transform(singles.begin(), singles.end(), out, widen);
      if (factor != 1) multiply(out, factor);
      break;
    }
    default:
      std::memcpy(out, payload.raw() + 8 * frame * frame_entries, 8 * entries_of_frame(payload, frame));
      if (factor != 1) multiply(out, factor);
      break;
  }
}

}  // namespace blco
