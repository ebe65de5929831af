// A baseline for the CPU's MTTKRP, independent of the engine: the ALTO loop (Helal et al., ICS 2021), kept as simple as
// there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "blco/executor.hpp"
#include "blco/layout.hpp"

namespace blco {

// Line indices in order, coordinates extracted by pext, order and rank compiled in, f64, one output per thread, merged
// at the end. Holds everything decoded, outside any memory budget.
class AltoBaseline {
 public:
  virtual ~AltoBaseline() = default;

  // Adds the next nonzeros in line order. Add all of them before the first run. Throws Error{invalid_argument} if there
  // are more than announced.
  virtual void add(std::span<const LineIndex> lines, std::span<const double> values) = 0;
  // One pass over all nonzeros.
  virtual void run(int mode) = 0;
  // Row `row` of the last pass's output, R numbers.
  virtual std::span<const double> output_row(std::uint64_t row) const = 0;
  // Factor matrix for the caller to fill: I_n x R, row-major.
  virtual std::span<double> factor(int mode) = 0;
};

// True if a baseline exists: orders 3 to 5, ranks 16, 32 and 64, on a CPU with a fast pext.
bool has_alto_baseline(const TensorLayout& layout, int rank);

// `executor` must outlive it. Throws Error{invalid_argument} if no baseline exists.
std::unique_ptr<AltoBaseline> make_alto_baseline(const TensorLayout& layout, int rank, std::uint64_t nnz,
                                                 Executor& executor);

}  // namespace blco
