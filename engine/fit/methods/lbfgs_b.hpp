// Minimises a function of many numbers, with or without lower bounds of zero, by L-BFGS-B. The numbers may lie with
// several workers: this decides which steps they take, by sums over all numbers.
//
// The method: Byrd, Lu, Nocedal & Zhu, A Limited Memory Algorithm for Bound Constrained Optimization, SIAM J. Sci.
// Comput. 1995, with the subspace step of Morales & Nocedal, Remark on Algorithm 778, ACM TOMS 2011. Iterates are those
// of the authors' library, version 3.0, up to rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "blco/executor.hpp"
#include "engine/fit/methods/compact_hessian.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/lbfgs_numbers.hpp"
#include "kernels/stop_poll.hpp"

namespace blco {

class LbfgsB {
 public:
  // Takes a step over all numbers; the answer is that of LbfgsNumbers, or those of several, combined.
  using Take = std::function<std::vector<double>(const LbfgsStep&)>;
  // Returns the value at x, and leaves the gradient in its place.
  using Function = std::function<double()>;

  struct Result {
    double first_value = 0;  // at the given numbers
    double value = 0;        // at those that were found
    int evaluations = 0;
    bool is_best_last = false;  // the function was last called with those that were found
  };

  // Of `count` numbers, of which some have bounds or none. `executor` must outlive this.
  LbfgsB(std::uint64_t count, bool has_bounds, Take take, Executor& executor, const MemorySource& memory = {});

  // Where x is now, and what else.
  const LbfgsPlaces& places() const { return places_; }

  // Starts from x, and leaves the best numbers there that it found. Ends after `max_evaluations`, when it finds
  // nothing better, at a value that is not finite, and after the evaluation in which `stop` begins to hold. Keeps
  // nothing from one call to the next.
  Result minimize(const Function& function, int max_evaluations, const StopPoll& stop);

 private:
  using Coefficients = CompactHessian::Coefficients;
  // Of W, for a number with a breakpoint.
  struct Row {
    LbfgsBreakpoint at;
    Coefficients middle;  // times M
    double bend;          // theta + row M row'
  };
  // The direction of the line search.
  struct Aim {
    double slope;
    double squares;
    double longest;  // step within the bounds
  };

  LbfgsStep step_of(LbfgsStepKind kind) const;
  void take(const LbfgsStep& step);
  bool measure(std::optional<double> step, double curvature);
  std::size_t load_breakpoints(const LbfgsStep& step);
  Coefficients find_cauchy_point();
  void aim(double share, const Coefficients& factors);
  std::optional<Aim> find_aim();
  double find_slope();
  void move(double step);

  bool has_bounds_;
  Take take_;
  Executor& executor_;
  LbfgsPlaces places_;
  AlignedBuffer<Row> rows_;  // of the next breakpoints
  LbfgsSums total_{};        // of the last step that has sums
  CompactHessian hessian_;
  bool has_new_pair_ = false;
  std::size_t new_slot_ = 0;
  // Of the projected gradient path.
  double squares_ = 0;       // of its first direction
  double breaks_ = 0;        // numbers that it brings to their bounds
  double open_ = 0;          // numbers that it moves for ever
  double cauchy_reach_ = 0;  // where the Cauchy point is
  double last_break_ = 0;    // numbers with breakpoints up to here are held there
};

}  // namespace blco
