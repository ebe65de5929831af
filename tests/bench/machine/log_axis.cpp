#include "tests/bench/machine/log_axis.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace blco {

LogAxis::LogAxis(double low, double high, double first, double last, double least_decades)
    : low_(std::log10(low)), high_(std::log10(high)), first_(first), last_(last) {
  const double missing = std::max(least_decades - (high_ - low_), 0.0);
  low_ -= missing / 2;
  high_ += missing / 2;
}

std::vector<AxisTick> LogAxis::ticks() const {
  constexpr double most_numbers = 12;
  constexpr double few_decades = 3.2;
  constexpr double some_decades = 4.5;
  const double decades = high_ - low_;
  const double step = std::ceil(decades / most_numbers);
  std::vector<AxisTick> ticks;
  for (double power = std::floor(low_ / step) * step; power <= high_; power += step) {
    for (int digit = 1; digit <= 9; ++digit) {
      const double value = digit * std::pow(10, power);
      const double at = std::log10(value);
      if (at < low_ || at > high_ || (digit > 1 && decades > some_decades)) continue;
      ticks.push_back({value, digit == 1 || (decades <= few_decades && (digit == 2 || digit == 5))});
    }
  }
  return ticks;
}

std::string plain_number(double number) {
  constexpr int most_decimals = 300;
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(number) + 1e-9)), 0, most_decimals);
  std::array<char, 700> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, decimals).ptr;
  std::string written(text.data(), end);
  if (decimals > 0) written.erase(written.find_last_not_of('0') + 1);
  if (written.ends_with('.')) written.pop_back();
  return written;
}

}  // namespace blco
