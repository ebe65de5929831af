// The numbers that L-BFGS-B moves, or one worker's part of them, with all that it keeps of each, and its steps over
// them, on all threads. engine/fit/methods/lbfgs_b.hpp decides which steps; it has the names of the method.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

inline constexpr std::size_t lbfgs_pairs = 10;
inline constexpr std::size_t lbfgs_columns = 2 * lbfgs_pairs;

// What a job keeps for it.
enum class LbfgsVectors : std::uint8_t { none, plain, scaled };

// Which of its points and of its gradients is what: they change places, and no number moves.
struct LbfgsPlaces {
  std::uint8_t x = 0;
  std::uint8_t start = 1;     // of the line search
  std::uint8_t best = 2;      // unless x or start is
  std::uint8_t gradient = 0;  // at x; the other one is that at the start
};

enum class LbfgsStepKind : std::uint8_t {
  raise_to_bounds,   // x
  measure,           // begins at x; adds a pair
  next_breakpoints,  // of the projected gradient path
  find_free,         // at the Cauchy point
  aim,               // to the minimum of the model among the free numbers; leaves x there in `start`
  find_slope,        // of the direction
  move,              // x, along the direction from `start`
};

// A step, and what it goes by.
struct LbfgsStep {
  LbfgsStepKind kind = LbfgsStepKind::move;
  LbfgsPlaces places = {};
  bool has_bounds = false;    // some number of all
  bool has_new_pair = false;  // for the last step
  bool begins_search = false;
  std::uint64_t pairs = 0;  // in the history, the new one among them
  std::uint64_t new_slot = 0;
  double step = 0;  // along the direction
  double theta = 1;
  double cauchy_reach = 0;  // where the Cauchy point is
  double last_break = -1;   // numbers with breakpoints up to here are held there
  double share = 1;         // of the way from the Cauchy point
  // Per column of W, in the order in which they lie in memory: s and y of the first slot, of the second one, ...
  std::array<double, lbfgs_columns> factors = {};
  // Of breakpoints: those above and up to so many multiples of the gradient; then those after the last one.
  double above = 0;
  double up_to = 0;
  std::array<double, 2> last = {};  // its reach and its number
  std::uint64_t most = 0;           // breakpoints of the answer
};

// Sums over numbers. The answer to a step has those at the beginning that it makes.
struct LbfgsSums {
  std::array<double, 2> least;  // no sums
  std::array<double, 3> added;
  std::array<double, 3 * lbfgs_columns> products;  // of each column with three vectors
  std::array<double, lbfgs_columns * lbfgs_columns> changes;
};
// Of `least`, in each answer that has sums.
inline constexpr std::size_t lbfgs_least = 2;

// Where a number meets its bound, in the answer about breakpoints: after how many there are to be at most, they follow
// one after the other, in the order of their reaches and numbers.
struct LbfgsBreakpoint {
  double reach;                           // in multiples of its gradient
  double number;                          // among all
  double fall;                            // its gradient
  std::array<double, lbfgs_columns> row;  // of W
};
inline constexpr std::size_t numbers_of_breakpoint = sizeof(LbfgsBreakpoint) / sizeof(double);

class LbfgsNumbers {
 public:
  // So many from a number of all on.
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };

  // These are of `ranges`, which ascend. `executor` must outlive this.
  LbfgsNumbers(std::vector<Range> ranges, Executor& executor, const MemorySource& memory = {});

  std::uint64_t size() const { return points_[0].size(); }
  std::span<double> point(std::size_t place) { return points_[place].span(); }
  std::span<double> gradient(std::size_t place) { return gradients_[place].span(); }
  // Keeps so many of these from `first` on at 0 or above.
  void bound(std::size_t first, std::size_t count);

  // Takes a step over these numbers. The order of sums depends on their count alone: threads change no bit.
  std::vector<double> take(const LbfgsStep& step);

 private:
  struct Tile;
  struct View;
  struct Found {
    double reach;
    std::uint64_t number;
  };

  View view(const LbfgsPlaces& places);
  template <class Visit>
  LbfgsSums for_each_tile(const Visit& visit);
  void find_held(const LbfgsStep& step, const View& of, const Tile& tile, bool* held) const;
  LbfgsSums measure(const LbfgsStep& step);
  LbfgsSums find_free(const LbfgsStep& step);
  LbfgsSums aim(const LbfgsStep& step);
  LbfgsSums find_slope(const LbfgsStep& step);
  void raise_to_bounds(const LbfgsStep& step);
  void move(const LbfgsStep& step);
  void find_breakpoints(const LbfgsStep& step);
  std::vector<double> next_breakpoints(const LbfgsStep& step);
  double number_of_all(std::uint64_t number) const;

  Executor& executor_;
  std::vector<Range> ranges_;
  std::array<AlignedBuffer<double>, 3> points_;
  std::array<AlignedBuffer<double>, 2> gradients_;
  AlignedBuffer<double> direction_;  // of the line search
  AlignedBuffer<double> pairs_;      // W, in tiles of all its columns
  AlignedBuffer<Found> breakpoints_;
  AlignedBuffer<bool> bounded_;
  AlignedBuffer<bool> held_;  // at the last Cauchy point
  AlignedBuffer<LbfgsSums> sums_;
  std::size_t found_ = 0;  // breakpoints
  std::size_t next_ = 0;   // of them
};

}  // namespace blco
