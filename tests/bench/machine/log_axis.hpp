// A logarithmic axis of a plot: where a value lies, and which values get a line and a number.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace blco {

struct AxisTick {
  double value = 0;
  bool has_number = true;
};

class LogAxis {
 public:
  // From `low` to `high`, both above 0, drawn from `first` to `last`, in pixels. Widened to `least_decades` or more.
  LogAxis(double low, double high, double first, double last, double least_decades);

  double low() const { return std::pow(10, low_); }
  double high() const { return std::pow(10, high_); }
  double position(double value) const { return first_ + (std::log10(value) - low_) * decade_pixels(); }
  // Pixels from a value to the tenfold; negative where the axis runs upward on the screen.
  double decade_pixels() const { return (last_ - first_) / (high_ - low_); }
  // Powers of ten, the numbers 2 and 5 or 2 to 9 between them where there is room.
  std::vector<AxisTick> ticks() const;

 private:
  double low_;  // logarithms
  double high_;
  double first_;
  double last_;
};

// A number above 0 with three digits, or all of those before its point: "0.0123", "1.5", "285", "12345".
std::string plain_number(double number);

}  // namespace blco
