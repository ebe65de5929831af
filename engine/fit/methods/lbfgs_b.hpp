// Minimises a function of many numbers, with or without lower bounds of zero, by L-BFGS-B, on all threads.
//
// The method: Byrd, Lu, Nocedal & Zhu, A Limited Memory Algorithm for Bound Constrained Optimization, SIAM J. Sci.
// Comput. 1995, with the subspace step of Morales & Nocedal, Remark on Algorithm 778, ACM TOMS 2011. Iterates are those
// of the authors' library, version 3.0, up to rounding. Sums are over ranges that depend on the number of numbers
// alone, added in order: threads change no bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "blco/executor.hpp"
#include "engine/fit/methods/compact_hessian.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/stop_poll.hpp"

namespace blco {

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

  // `executor` must outlive this.
  LbfgsB(std::uint64_t count, Executor& executor, const MemorySource& memory = {});

  // Keeps so many numbers from `first` on at 0 or above.
  void bound(std::size_t first, std::size_t count);

  std::span<double> x() { return x_.span(); }

  // Starts from x(), and leaves the best numbers there that it found. Ends after `max_evaluations`, when it finds
  // nothing better, at a value that is not finite, and after the evaluation in which `stop` begins to hold. Keeps
  // nothing from one call to the next.
  Result minimize(const Function& function, int max_evaluations, const StopPoll& stop);

 private:
  using Coefficients = CompactHessian::Coefficients;
  struct Tile;
  // Of a range of tiles.
  struct Sums {
    CompactHessian::Products products;
    std::array<double, CompactHessian::most_columns * CompactHessian::most_columns> changes;
    std::array<double, 3> added;
    std::array<double, 2> least;
  };
  // Where a number meets its bound, in multiples of its gradient.
  struct Breakpoint {
    double reach;
    std::uint64_t number;
  };
  // Of W, for a number with a breakpoint.
  struct Row {
    Coefficients numbers;
    Coefficients middle;  // times M
    double bend;          // theta + row M row'
    double fall;          // its gradient
  };
  // The direction of the line search.
  struct Aim {
    double slope;
    double squares;
    double longest;  // step within the bounds
  };

  static std::uint64_t ranges_of(std::uint64_t count);
  template <class Visit>
  void for_each_tile(const Visit& visit);
  void find_held(const Tile& tile, bool* held) const;

  bool measure(std::optional<double> step, double curvature);
  void find_breakpoints(double above, double most);
  void load_rows(std::size_t first);
  Coefficients find_cauchy_point();

  void find_free(const Coefficients& middle);
  std::optional<Aim> find_aim();
  double take_step(double share, const Coefficients& factors);
  double find_slope();
  void move(double step);

  Executor& executor_;
  AlignedBuffer<double> x_;
  AlignedBuffer<double> start_;  // of the line search
  AlignedBuffer<double> best_;   // unless x_ or start_ is
  AlignedBuffer<double> gradient_;
  AlignedBuffer<double> old_gradient_;
  AlignedBuffer<double> direction_;
  AlignedBuffer<double> pairs_;  // W, in tiles of all its columns
  AlignedBuffer<Breakpoint> breakpoints_;
  AlignedBuffer<Row> rows_;  // of the next breakpoints
  AlignedBuffer<bool> bounded_;
  AlignedBuffer<bool> held_;  // at the last Cauchy point
  AlignedBuffer<Sums> sums_;
  Sums total_;
  bool has_bounds_ = false;
  CompactHessian hessian_;
  bool has_new_pair_ = false;
  std::size_t new_slot_ = 0;
  // Of the projected gradient path.
  double squares_ = 0;       // of its first direction
  double breaks_ = 0;        // numbers that it brings to their bounds
  double open_ = 0;          // numbers that it moves for ever
  std::size_t found_ = 0;    // breakpoints
  double cauchy_reach_ = 0;  // where the Cauchy point is
  double last_break_ = 0;    // numbers with breakpoints up to here are held there
};

}  // namespace blco
