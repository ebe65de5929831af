// A yardstick for the CPU's MTTKRP, apart from the engine: the loop of ALTO (Helal et al., ICS 2021), kept as simple as
// it is there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "blco/executor.hpp"
#include "blco/layout.hpp"

namespace blco {

// Line indices in order, with all coordinates taken out by pext; order and rank compiled in; f64; one output per
// thread, merged at the end. Holds everything decoded, without a memory budget.
class AltoBaseline {
 public:
  virtual ~AltoBaseline() = default;

  // Of the next nonzeros in line order; all of them are added before the first run. Throws Error{invalid_argument} for
  // more than were announced.
  virtual void add(std::span<const LineIndex> lines, std::span<const double> values) = 0;
  // One pass over all nonzeros.
  virtual void run(int mode) = 0;
  // Row `row` of the last pass, R numbers.
  virtual std::span<const double> output_row(std::uint64_t row) const = 0;
  // To be filled by the caller: I_n x R, row-major.
  virtual std::span<double> factor(int mode) = 0;
};

// Whether there is one: orders 3 to 5, ranks 16, 32 and 64, on a CPU with a fast pext.
bool has_alto_baseline(const TensorLayout& layout, int rank);

// `executor` must outlive it. Throws Error{invalid_argument} where there is none.
std::unique_ptr<AltoBaseline> make_alto_baseline(const TensorLayout& layout, int rank, std::uint64_t nnz,
                                                 Executor& executor);

}  // namespace blco
