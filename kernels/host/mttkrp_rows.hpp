// The MTTKRP of decoded nonzeros: out[i_n] += value * prod_{m != n} A_m[i_m], vectorised along the rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blco/layout.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// Factor rows of `row_bytes` are prefetched if the rows that a chunk's nonzeros can touch exceed this total. Below it
// they stay in the caches, since neighbours in line order are close in every mode, and prefetches cost more than they
// save: the more cache lines a row has, the more.
constexpr std::uint64_t prefetched_bytes(std::uint64_t row_bytes) {
  return std::uint64_t{row_bytes <= 2 * cache_line_bytes ? 3U : 6U} << 20;
}

// A matrix of padded rows, and how to find the row of each nonzero.
template <class T>
struct IndexedRows {
  T* matrix = nullptr;
  const std::uint32_t* rows = nullptr;  // in the ring of decoded frames, or of arranged nonzeros
  std::uint64_t mask = 0;               // or applied to a line index: the row is pext(line, mask)
  std::uint64_t first_row = 0;          // of `matrix`; nonzero only for a block of the output
  bool prefetch = true;                 // where the task asks for prefetches; else this matrix stays in the caches
};

// Products and sums are `Sum`; the factors that are read may be narrower.
template <class Sum, class Factor = Sum>
struct RowsTask {
  using SumType = Sum;
  using FactorType = Factor;

  IndexedRows<Sum> output;
  std::array<IndexedRows<const Factor>, max_order> factors{};
  int factor_count = 0;
  const std::uint64_t* lines = nullptr;  // line indices of the nonzeros; nullptr: the rows are listed
  const double* values = nullptr;        // parallel to lines or rows; nullptr: all are 1
  // As in ArrangedNonzeros; nullptr: nonzeros are not arranged, or not in fibers.
  const std::uint32_t* target_ends = nullptr;
  const std::uint32_t* fiber_ends = nullptr;
  bool sorted = false;           // lines of a target row follow each other
  std::uint64_t fiber_mask = 0;  // of sorted lines: nonzeros of a fiber are alike in these bits; 0: not in fibers
  std::uint64_t stride = 0;      // elements from one row to the next, in every matrix: padded_rank<Sum>
  bool prefetch = false;         // prefetch rows, and with them lines and values
};

// A range of nonzeros in the ring, without wrapping around its end, or of the line indices, or of arranged nonzeros or
// their fibers.
struct NonzeroRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// Adds the nonzeros of `range` to the output, one after the other. The numbers do not depend on how the nonzeros are
// cut into calls, nor on their form, but for fibers, whose sums are added as a whole; a call ends the last one. Of
// fibers, the last factor is that along them, and there are two factors at least.
template <class Sum, class Factor>
void mttkrp_rows(const RowsTask<Sum, Factor>& task, NonzeroRange range);

}  // namespace blco
