// The numbers of the rows that a worker owns, as L-BFGS has them: one after the other, in host memory, and over scales.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "engine/work/rows/combining.hpp"
#include "engine/work/rows/placed_rows.hpp"
#include "kernels/backend.hpp"
#include "kernels/lbfgs_numbers.hpp"

namespace blco {

enum class NumbersKind : std::uint8_t {
  step,           // `step`
  bound,          // keeps numbers at 0 or above
  read_factors,   // into x, without scales
  sum_columns,    // of x; the answer has those of all modes, one after the other
  scale,          // by R addends and R divisors: sqrt((x + addend) / divisor)
  divide,         // x by the scales
  write_factors,  // x times the scales; the gradient is lost
  read_gradient,  // from the output, by OtherModes::product
  clear_gradient,
};

// What rank 0 orders from all workers. In a message the numbers that it goes by follow.
struct NumbersOrder {
  NumbersKind kind = NumbersKind::step;
  LbfgsPlaces places = {};
  ModeSet modes = ~ModeSet{0};  // whose numbers these are
  bool is_of_squares = false;   // as OtherModes
  LbfgsStep step = {};
};

// How the numbers that workers return are combined; none: it has no numbers to return, as combining_of(StepKind) says.
std::optional<Combining> combining_of(const NumbersOrder& order);

class OwnNumbers {
 public:
  // `rows` are of each mode, numbered among the rows of all modes, one mode after the other. `executor` must outlive
  // this.
  OwnNumbers(std::vector<PlacedRows> rows, int columns, LbfgsVectors vectors, Executor& executor,
             const MemorySource& memory = {});
  // Of so many rows of each mode.
  static std::uint64_t bytes(const std::vector<std::uint64_t>& rows, int columns, LbfgsVectors vectors);

  // Carries out an order, and returns its numbers. The factors, and outputs, are this worker's.
  std::vector<double> take(const NumbersOrder& order, std::span<const double> given, Factors& factors);

 private:
  // Calls visit(mode, where its rows are, its first number, their count) for each of which there are rows here.
  template <class Visit>
  void for_each_mode(ModeSet modes, const Visit& visit) const;
  template <class Operation>
  void combine_with_scales(std::span<const double> from, std::span<double> to, std::size_t first,
                           const Operation& operation);
  std::vector<double> sum_columns(std::span<const double> x) const;
  void scale(std::span<const double> x, std::size_t first, std::span<const double> given);

  std::vector<PlacedRows> rows_;
  int columns_;
  Executor& executor_;
  LbfgsNumbers numbers_;
  AlignedBuffer<double> scales_;
  bool has_scales_ = false;      // else all are 1
  AlignedBuffer<double> block_;  // of rows
};

}  // namespace blco
