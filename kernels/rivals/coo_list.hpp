// A list of coordinates, as GenTen stores it (Phipps and Kolda, SISC 2019).
#pragma once

#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/rivals/rival.hpp"

namespace blco {

// Nonzeros that a thread takes at a time.
inline constexpr std::uint64_t coo_block_nonzeros = 128;

// Zeros after the last nonzero of every array, so that a kernel may look ahead without asking where the end is.
inline constexpr std::uint64_t look_ahead_nonzeros = 64;

// T: double or float. The arrays have look_ahead_nonzeros entries more than the M that belong to the format.
template <class T>
struct CooList {
  std::uint64_t nnz = 0;
  AlignedBuffer<std::uint32_t> subscripts;                 // M x N, row-major
  AlignedBuffer<T> values;                                 // M
  std::vector<AlignedBuffer<std::uint32_t>> permutations;  // of coo_perm, per mode: M nonzeros sorted by this mode
};

// The list of coo_atomic, coo_line, coo_single, coo_duplicated or coo_perm: nonzeros in natural order, of coo_line in
// line order. In a permutation, nonzeros of one row keep their order. Takes up to 68 bytes per nonzero beside the
// result. Throws Error{invalid_argument} where coo_line has lines of more than 128 bits.
template <class T>
CooList<T> build_coo_list(RivalKind kind, const RivalTensor& tensor, Executor& executor);

// Bytes per MTTKRP by the model there, for M nonzeros of order N: ((N R + 3) s + N u) M, with s bytes in a
// number and u in an index.
constexpr std::uint64_t genten_traffic_bytes(std::uint64_t order, std::uint64_t rank, std::uint64_t nnz,
                                             std::uint64_t number_bytes, std::uint64_t index_bytes) {
  return ((order * rank + 3) * number_bytes + order * index_bytes) * nnz;
}

}  // namespace blco
