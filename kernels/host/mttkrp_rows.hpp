// The MTTKRP of decoded nonzeros: out[i_n] += value * prod_{m != n} A_m[i_m], vectorised along the rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blco/layout.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// Rows of so many bytes each are prefetched where those that the nonzeros of a chunk can have take more than this
// together. Below, they stay in the caches by themselves, since neighbours in line order are near each other in every
// mode, and prefetches cost more than they save: the more lines a row has, the more.
constexpr std::uint64_t prefetched_bytes(std::uint64_t row_bytes) {
  return std::uint64_t{row_bytes <= 2 * cache_line_bytes ? 3U : 6U} << 20;
}

// Line indices and values that are sorted are prefetched where all matrices together take more than this. Without that
// the processor's own prefetcher falls behind where rows miss the caches, and every eighth nonzero waits for memory.
inline constexpr std::uint64_t stream_prefetched_bytes = std::uint64_t{6} << 20;

// A matrix of padded rows, and how the row of each nonzero is found.
template <class T>
struct IndexedRows {
  T* matrix = nullptr;
  const std::uint32_t* rows = nullptr;  // in the ring of decoded frames
  std::uint64_t mask = 0;               // or of a line index: the row is pext(line, mask)
  std::uint64_t first_row = 0;          // of `matrix`; not 0 for a block of the output only
};

template <class T>
struct RowsTask {
  IndexedRows<T> output;
  std::array<IndexedRows<const T>, max_order> factors{};
  int factor_count = 0;
  const std::uint64_t* lines = nullptr;  // line indices of the nonzeros; nullptr: rows are in the ring
  bool sorted = false;                   // bit 63 of a line says that its target row is not the one before's
  const double* values = nullptr;        // as long as the lines, or in the ring; nullptr, with lines only: all are 1
  std::uint64_t stride = 0;              // padded rank, of all matrices
  bool prefetch = false;                 // rows ahead of their use, and with them lines and values
  bool prefetch_stream = false;          // sorted lines and values alone
};

// Some nonzeros of the ring, without wrapping around its end; or of the line indices.
struct NonzeroRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// Adds the nonzeros of `range` to the output, each to what is there when its turn comes: the numbers are the same
// however the nonzeros are cut into calls, and whether they come as rows, as lines or sorted by row.
void mttkrp_rows(const RowsTask<double>& task, NonzeroRange range);
void mttkrp_rows(const RowsTask<float>& task, NonzeroRange range);

}  // namespace blco
