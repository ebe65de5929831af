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

// Sorted line indices and values are prefetched if all matrices together exceed this. Otherwise, where rows miss the
// caches, the processor's own prefetcher falls behind and every eighth nonzero waits for memory.
inline constexpr std::uint64_t stream_prefetched_bytes = std::uint64_t{6} << 20;

// A matrix of padded rows, and how to find the row of each nonzero.
template <class T>
struct IndexedRows {
  T* matrix = nullptr;
  const std::uint32_t* rows = nullptr;  // in the ring of decoded frames
  std::uint64_t mask = 0;               // or applied to a line index: the row is pext(line, mask)
  std::uint64_t first_row = 0;          // of `matrix`; nonzero only for a block of the output
};

// Products and sums are `Sum`; the factors that are read may be narrower.
template <class Sum, class Factor = Sum>
struct RowsTask {
  using SumType = Sum;
  using FactorType = Factor;

  IndexedRows<Sum> output;
  std::array<IndexedRows<const Factor>, max_order> factors{};
  int factor_count = 0;
  const std::uint64_t* lines = nullptr;  // line indices of the nonzeros; nullptr: the rows are in the ring
  bool sorted = false;                   // bit 63 of a line: its target row differs from the previous one's
  const double* values = nullptr;        // parallel to the lines, or in the ring; nullptr, with lines only: all are 1
  std::uint64_t stride = 0;              // elements from one row to the next, in every matrix: padded_rank<Sum>
  bool prefetch = false;                 // prefetch rows, and with them lines and values
  bool prefetch_stream = false;          // prefetch sorted lines and values only
};

// A range of nonzeros in the ring, without wrapping around its end, or of the line indices.
struct NonzeroRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// Adds the nonzeros of `range` to the output, one after the other. The numbers do not depend on how the nonzeros are
// cut into calls, nor on whether they come as rows, as lines or sorted by row.
template <class Sum, class Factor>
void mttkrp_rows(const RowsTask<Sum, Factor>& task, NonzeroRange range);

}  // namespace blco
