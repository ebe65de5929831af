// Parses the value of a nonzero: signs, exponents, overflow and underflow.
#include "io/text/tns_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace blco {
namespace {

// True if a number that from_chars calls out of range is too small, not too large.
bool underflows(std::string_view number) {
  const std::size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, exponent_at);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t leading = digits.find_first_of("123456789");
  if (leading == std::string_view::npos) return true;
  std::string_view exponent_text = number.substr(std::min(exponent_at + 1, number.size()));
  const bool negative = exponent_text.starts_with('-');
  if (negative || exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto result = std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (result.ec == std::errc::result_out_of_range) return negative;
  // A line has at most max_tns_line_bytes, so the sum cannot overflow unless the exponent alone decides.
  constexpr std::int64_t decisive = std::int64_t{1} << 40;
  exponent = std::min(exponent, decisive);
  return (negative ? -exponent : exponent) + static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading) < 0;
}

}  // namespace

TnsValueFault parse_tns_value(std::string_view field, double& value) {
  const bool minus = field.starts_with('-');
  std::string_view number = field.substr(minus || field.starts_with('+') ? 1 : 0);
  const bool numeric = !number.empty() && (number[0] == '.' || (number[0] >= '0' && number[0] <= '9'));
  double magnitude = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), magnitude);
  if (result.ec == std::errc::invalid_argument || result.ptr != number.data() + number.size()) {
    return TnsValueFault::no_number;
  }
  if (!numeric) return std::isfinite(magnitude) ? TnsValueFault::no_number : TnsValueFault::not_finite;
  if (result.ec == std::errc::result_out_of_range) {
    if (!underflows(number)) return TnsValueFault::overflow;
    magnitude = 0;
  }
  if (!std::isfinite(magnitude)) return TnsValueFault::overflow;
  value = minus ? -magnitude : magnitude;
  return TnsValueFault::none;
}

std::optional<std::uint64_t> whole_of_real(std::string_view field) {
  constexpr double most = 0x1p53;
  double number = -1;
  const bool is_unsigned = !field.empty() && field[0] >= '0' && field[0] <= '9';
  if (!is_unsigned || parse_tns_value(field, number) != TnsValueFault::none) return std::nullopt;
  if (number > most || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

}  // namespace blco
