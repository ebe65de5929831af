// A double whose logarithm, exponential and power have neither branches nor calls, so that the compiler turns loops
// over rules of pass_request.hpp into vector code.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace blco {

// Functions are within 2e-15 of the exact ones, relative to the larger of 1 and their result for log, and to their
// result for exp; pow(x, y) is exp(y log(x)), thus for x >= 0 only. Denormal numbers count as zero.
struct LaneNumber {
  LaneNumber() = default;
  explicit LaneNumber(double number) : value(number) {}

  friend LaneNumber operator+(LaneNumber a, LaneNumber b) { return LaneNumber(a.value + b.value); }
  friend LaneNumber operator-(LaneNumber a, LaneNumber b) { return LaneNumber(a.value - b.value); }
  friend LaneNumber operator*(LaneNumber a, LaneNumber b) { return LaneNumber(a.value * b.value); }
  friend LaneNumber operator/(LaneNumber a, LaneNumber b) { return LaneNumber(a.value / b.value); }
  friend bool operator<(LaneNumber a, LaneNumber b) { return a.value < b.value; }
  friend bool operator>(LaneNumber a, LaneNumber b) { return a.value > b.value; }

  friend LaneNumber lesser(LaneNumber a, LaneNumber b) { return LaneNumber(a.value < b.value ? a.value : b.value); }
  friend LaneNumber greater(LaneNumber a, LaneNumber b) { return LaneNumber(a.value > b.value ? a.value : b.value); }
  friend LaneNumber abs(LaneNumber x) { return LaneNumber(x.value < 0 ? 0 - x.value : x.value); }
  friend LaneNumber log(LaneNumber x) { return LaneNumber(log_of(x.value)); }
  friend LaneNumber exp(LaneNumber x) { return LaneNumber(exp_of(x.value)); }
  friend LaneNumber pow(LaneNumber x, LaneNumber y) { return LaneNumber(exp_of(y.value * log_of(x.value))); }

  double value;

 private:
  static constexpr int mantissa_bits = 52;
  // The sum of this and a number of at most 51 bits is rounded to a whole number, which its low bits hold.
  static constexpr double rounder = 0x1.8p52;
  // ln 2 in two parts; whole numbers of 11 bits times the upper one are exact.
  static constexpr double ln2_upper = 0x1.62e42fefa38p-1;
  static constexpr double ln2_lower = 0x1.ef35793c7673p-45;

  // x = 2^k z with z from sqrt(1/2) to sqrt(2), and log z = 2 artanh(s) with s = (z - 1) / (z + 1): the series of
  // artanh in s^2 <= 0.0295, up to s^23.
  static double log_of(double x) {
    constexpr std::int64_t sqrt_half = 0x3fe6a09e667f3bcd;
    const auto bits = std::bit_cast<std::int64_t>(x);
    const std::int64_t above = bits - sqrt_half;
    const std::int64_t exponent = above & ~((std::int64_t{1} << mantissa_bits) - 1);
    const double z = std::bit_cast<double>(bits - exponent);
    const double k = whole(exponent);
    const double s = (z - 1) / (z + 1);
    const double t = s * s;
    double series = 1.0 / 23;
    series = series * t + 1.0 / 21;
    series = series * t + 1.0 / 19;
    series = series * t + 1.0 / 17;
    series = series * t + 1.0 / 15;
    series = series * t + 1.0 / 13;
    series = series * t + 1.0 / 11;
    series = series * t + 1.0 / 9;
    series = series * t + 1.0 / 7;
    series = series * t + 1.0 / 5;
    series = series * t + 1.0 / 3;
    const double twice = 2 * s;
    const double near = k * ln2_upper + (twice + (twice * (t * series) + k * ln2_lower));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double finite = x < std::numeric_limits<double>::min() ? -infinity : near;
    const double defined = x < 0 ? std::numeric_limits<double>::quiet_NaN() : finite;
    // Of infinity and of what is not a number: the argument itself.
    return x < infinity ? defined : x;
  }

  // The whole number in the upper 12 bits of `exponent`, whose other bits are zero.
  static double whole(std::int64_t exponent) {
    const auto biased = static_cast<std::uint64_t>(exponent) + (std::uint64_t{0x800} << mantissa_bits);
    constexpr double two_to_52 = 0x1p52;
    const double number = std::bit_cast<double>((biased >> mantissa_bits) | std::bit_cast<std::uint64_t>(two_to_52));
    return number - (two_to_52 + 0x800);
  }

  // x = k ln 2 + r with |r| <= ln 2 / 2: the series of exp(r) up to r^13, times 2^k in two steps, either of which is a
  // normal number.
  static double exp_of(double x) {
    constexpr double largest = 1416;  // and less: the result overflows or vanishes
    const double below = x > largest ? largest : x;
    const double held = below < -largest ? -largest : below;
    const double shifted = held * 1.44269504088896340736 + rounder;
    const double k = shifted - rounder;
    const double r = (held - k * ln2_upper) - k * ln2_lower;
    double series = 1.0 / 6227020800;
    series = series * r + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 1.0 / 2;
    const double fraction = r + r * r * series + 1;
    const double half = (k * 0.5 + rounder) - rounder;
    return fraction * power_of_two(half) * power_of_two(k - half);
  }

  // 2^k for a whole number from -1022 to 1023.
  static double power_of_two(double k) {
    const auto bits = std::bit_cast<std::uint64_t>(k + (rounder + 1023));
    return std::bit_cast<double>(bits << mantissa_bits);
  }
};

}  // namespace blco
