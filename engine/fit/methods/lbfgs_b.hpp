// Minimises a function of many numbers, with or without lower bounds of zero, by the library L-BFGS-B.
//
// The method: Byrd, Lu, Nocedal & Zhu, A Limited Memory Algorithm for Bound Constrained Optimization, SIAM J. Sci.
// Comput. 1995. The library: Zhu, Byrd, Lu & Nocedal, Algorithm 778, ACM TOMS 1997, version 3.0 (Morales & Nocedal
// 2011). It hands control back for each evaluation, so that no exception crosses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/stop_poll.hpp"

namespace blco {

// More of them and the library's own offsets, which have 32 bits, overflow.
inline constexpr std::uint64_t max_lbfgs_numbers = 190'000'000;

class LbfgsB {
 public:
  // Returns the value at `x`, and fills in the gradient, which has the same size.
  using Function = std::function<double(std::span<const double> x, std::span<double> gradient)>;

  struct Result {
    double first_value = 0;  // at the given numbers
    double value = 0;        // at those that were found
    int evaluations = 0;
    bool is_best_last = false;  // the function was last called with those that were found
  };

  // `count` is at most max_lbfgs_numbers. With `nonnegative`, no number gets below zero.
  LbfgsB(std::uint64_t count, bool nonnegative);

  // Keeps those numbers from `first` on at 0 or above, too.
  void bound(std::size_t first, std::size_t count) { std::fill_n(bounds_.begin() + first, count, 1); }

  // Memory of an object for that many numbers; their own, x(), is part of it.
  static std::uint64_t bytes(std::uint64_t count);

  std::span<double> x() { return x_; }

  // Starts from x(), and leaves the best numbers there that it found. Ends after `max_evaluations`, when it finds
  // nothing better, at a value that is not finite, and after the evaluation in which `stop` begins to hold. Keeps
  // nothing from one call to the next.
  Result minimize(const Function& function, int max_evaluations, const StopPoll& stop);

 private:
  // Corrections that approximate the Hessian: fewer for so many numbers that the library could not address them.
  static int corrections(std::uint64_t count);
  static std::uint64_t work_numbers(std::uint64_t count);

  std::vector<double> x_;
  std::vector<double> best_;
  std::vector<double> gradient_;
  std::vector<double> lower_;
  std::vector<int> bounds_;  // which ones each number has
  std::vector<double> work_;
  std::vector<int> indices_;
};

}  // namespace blco
