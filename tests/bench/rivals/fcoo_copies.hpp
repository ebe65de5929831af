// F-COO: coordinates without the target mode, and flags that say where its index changes (Liu et al., CLUSTER 2017).
#pragma once

#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/coo_list.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// The copy of a tensor for one target mode: its M nonzeros sorted by this mode, those of one row in natural order. A
// segment is all nonzeros of one target row; a group is `group_nonzeros` neighbours, the last one fewer. Flag i is bit
// i % 32 of word i / 32. Indices and values have look_ahead_nonzeros entries more, all zero. T: double or float.
template <class T>
struct FcooCopy {
  int mode = 0;
  std::uint64_t nnz = 0;
  std::uint64_t group_nonzeros = 0;
  std::vector<AlignedBuffer<std::uint32_t>> indices;  // of the N - 1 other modes, ascending: M each
  AlignedBuffer<T> values;                            // M
  std::vector<std::uint32_t> bit_flags;               // per nonzero: 0 at the last of a segment
  std::vector<std::uint32_t> start_flags;             // per group: 1 if a segment begins in it
  std::vector<std::uint32_t> rows;                    // per segment: its target row
  std::vector<std::uint32_t> first_segments;          // per group: the segment of its first nonzero

  std::uint64_t groups() const { return first_segments.size(); }
};

// Takes 8 bytes per nonzero beside the result. Requires group_nonzeros > 0.
template <class T>
FcooCopy<T> build_fcoo_copy(const RivalTensor& tensor, int mode, std::uint64_t group_nonzeros, Executor& executor);

// Bytes of indices and flags of all N copies, without row lists: N M [4 (N - 1) + 1/8 + 1/(8 group_nonzeros)], flags
// rounded up to whole bytes.
constexpr std::uint64_t fcoo_index_bytes(std::uint64_t order, std::uint64_t nnz, std::uint64_t group_nonzeros) {
  const std::uint64_t groups = (nnz + group_nonzeros - 1) / group_nonzeros;
  return order * ((order - 1) * nnz * sizeof(std::uint32_t) + (nnz + 7) / 8 + (groups + 7) / 8);
}

}  // namespace blco
