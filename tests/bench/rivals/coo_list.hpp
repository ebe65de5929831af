// A list of coordinates, as GenTen stores it (Phipps and Kolda, SISC 2019).
#pragma once

#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/rival.hpp"

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

// How often coo_perm adds a row of `mode` to the output: once per row and block of `block_nonzeros`.
template <class T>
std::uint64_t count_row_adds(const CooList<T>& list, std::size_t mode, std::uint64_t block_nonzeros);

}  // namespace blco
