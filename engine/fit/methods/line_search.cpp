#include "engine/fit/methods/line_search.hpp"

#include <algorithm>
#include <cmath>

namespace blco {
namespace {

constexpr double enough = 1e-3;  // of the decrease along the first slope
constexpr double flat = 0.9;     // of the first slope
constexpr double narrow = 0.1;   // interval, relative to its end
constexpr double shrinks = 0.66;
constexpr double stretch_least = 1.1;
constexpr double stretch_most = 4;

using Point = LineSearch::Point;

// Of the cubic through two points.
struct CubicMinimum {
  double share = 0;  // of the way from the first to the second one
  bool exists = false;
};

CubicMinimum cubic_minimum(const Point& a, const Point& b) {
  const double theta = 3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
  const double scale = std::max({std::abs(theta), std::abs(a.slope), std::abs(b.slope)});
  const double square = (theta / scale) * (theta / scale) - (a.slope / scale) * (b.slope / scale);
  double gamma = scale * std::sqrt(std::max(0.0, square));
  if (b.step < a.step) gamma = -gamma;
  return {((gamma - a.slope) + theta) / (((gamma - a.slope) + gamma) + b.slope), gamma != 0};
}

double between(const Point& a, const Point& b, double share) { return a.step + share * (b.step - a.step); }

// The minimum of the parabola with both slopes.
double secant_step(const Point& a, const Point& b) { return between(a, b, a.slope / (a.slope - b.slope)); }

Point tilted(const Point& point, double slope) {
  return {point.step, point.value - point.step * slope, point.slope - slope};
}

}  // namespace

LineSearch::LineSearch(double value, double slope, double first_step, double longest_step)
    : start_{0, value, slope},
      best_(start_),
      other_(start_),
      longest_(longest_step),
      step_(first_step),
      most_(first_step + stretch_most * first_step),
      width_(longest_step),
      width_before_(2 * longest_step) {}

bool LineSearch::is_narrow(double step) const {
  return is_enclosed_ && (step <= least_ || step >= most_ || most_ - least_ <= narrow * most_);
}

bool LineSearch::is_last(const Point& trial) const {
  const double slope = enough * start_.slope;
  const bool is_lower = trial.value <= start_.value + trial.step * slope;
  const bool is_longest = trial.step == longest_ && is_lower && trial.slope <= slope;
  const bool is_shortest = trial.step == 0 && (!is_lower || trial.slope >= slope);
  return is_narrow(trial.step) || is_longest || is_shortest ||
         (is_lower && std::abs(trial.slope) <= flat * -start_.slope);
}

// Section 4 of the paper: four cases.
double LineSearch::next_step(const Point& best, const Point& other, const Point& trial) {
  const auto is_closer = [](double a, double b, const Point& to) {
    return std::abs(a - to.step) < std::abs(b - to.step);
  };
  if (trial.value > best.value) {
    is_enclosed_ = true;
    const double cubic = between(best, trial, cubic_minimum(best, trial).share);
    const double chord = (best.value - trial.value) / (trial.step - best.step);
    const double parabola = between(best, trial, best.slope / (chord + best.slope) / 2);
    return is_closer(cubic, parabola, best) ? cubic : cubic + (parabola - cubic) / 2;
  }
  if (trial.slope * (best.slope / std::abs(best.slope)) < 0) {
    is_enclosed_ = true;
    const double cubic = between(trial, best, cubic_minimum(trial, best).share);
    const double secant = secant_step(trial, best);
    return is_closer(secant, cubic, trial) ? cubic : secant;
  }
  const bool goes_on = trial.step > best.step;
  if (std::abs(trial.slope) < std::abs(best.slope)) {
    const CubicMinimum minimum = cubic_minimum(trial, best);
    const double limit = goes_on ? most_ : least_;
    const double cubic = minimum.share < 0 && minimum.exists ? between(trial, best, minimum.share) : limit;
    const double secant = secant_step(trial, best);
    if (!is_enclosed_) return std::clamp(is_closer(secant, cubic, trial) ? cubic : secant, least_, most_);
    const double closer = is_closer(cubic, secant, trial) ? cubic : secant;
    const double bound = between(trial, other, shrinks);
    return goes_on ? std::min(bound, closer) : std::max(bound, closer);
  }
  if (is_enclosed_) return between(trial, other, cubic_minimum(trial, other).share);
  return goes_on ? most_ : least_;
}

bool LineSearch::ends(double value, double slope) {
  const Point trial{step_, value, slope};
  const double decrease = enough * start_.slope;
  const bool is_lower = value <= start_.value + step_ * decrease;
  if (is_lower && slope >= 0) is_modified_ = false;
  if (is_last(trial)) return true;
  const double tilt = is_modified_ && value <= best_.value && !is_lower ? decrease : 0;
  const Point best = tilted(best_, tilt);
  const Point tried = tilted(trial, tilt);
  double next = next_step(best, tilted(other_, tilt), tried);
  if (tried.value > best.value) {
    other_ = trial;
  } else {
    if (tried.slope * best.slope < 0) other_ = best_;
    best_ = trial;
  }
  if (is_enclosed_) {
    if (std::abs(other_.step - best_.step) >= shrinks * width_before_) next = between(best_, other_, 0.5);
    width_before_ = width_;
    width_ = std::abs(other_.step - best_.step);
    least_ = std::min(best_.step, other_.step);
    most_ = std::max(best_.step, other_.step);
  } else {
    least_ = next + stretch_least * (next - best_.step);
    most_ = next + stretch_most * (next - best_.step);
  }
  step_ = std::clamp(next, 0.0, longest_);
  if (is_narrow(step_)) step_ = best_.step;
  return false;
}

}  // namespace blco
