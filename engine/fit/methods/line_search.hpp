// How far to go along a direction.
//
// The method: Moré & Thuente, Line Search Algorithms with Guaranteed Sufficient Decrease, ACM TOMS 1994.
#pragma once

namespace blco {

// Asks for one step after the other until one lowers the value enough and has a slope that is much flatter.
class LineSearch {
 public:
  struct Point {
    double step = 0;
    double value = 0;
    double slope = 0;  // below 0 at the start
  };

  LineSearch(double value, double slope, double first_step, double longest_step);

  double step() const { return step_; }
  // Takes the value and the slope at step(). True if the search ends there, which is also where rounding or the longest
  // step ends it; else step() is the next one.
  bool ends(double value, double slope);

 private:
  bool is_narrow(double step) const;  // the interval, or what it leaves of it beside the step
  bool is_last(const Point& trial) const;
  double next_step(const Point& best, const Point& other, const Point& trial);

  Point start_;
  Point best_;   // the step with the least value so far
  Point other_;  // the other end of the interval, once a minimum is enclosed
  double longest_;
  double step_;
  double least_ = 0;  // of the next steps
  double most_;
  double width_;
  double width_before_;
  bool is_enclosed_ = false;
  bool is_modified_ = true;  // looks for a minimum of the value less the decrease that is enough
};

}  // namespace blco
