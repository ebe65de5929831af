// The loops of GenTen's MTTKRP over a list of coordinates (Phipps and Kolda, SISC 2019): columns outside,
// the nonzeros of a block inside.
#pragma once

#include <cstdint>

#include "tests/bench/rivals/coordinate_task.hpp"

namespace blco {

// How sums meet in the output.
enum class RowAdds {
  plain,   // a load and a store per nonzero: nobody else writes
  atomic,  // an atomic addition per number and nonzero
};

// rows[k] and targets point into row-major subscripts, N = factor_count + 1 of them per nonzero.
template <class T>
struct CooTask {
  CoordinateTask<T> nonzeros;
  const std::uint32_t* targets = nullptr;
  const std::uint32_t* permutation = nullptr;  // sorts by target; nullptr: the nonzeros in order
  RowAdds adds = RowAdds::plain;
};

// Adds the nonzeros of blocks [begin, end) of coo_block_nonzeros each, of `nnz` in all. With a permutation, neighbours
// of one row are summed first, and only the first and the last row of a block are added atomically, if `adds` asks.
void add_coo_blocks(const CooTask<double>& task, std::uint64_t nnz, std::uint64_t begin, std::uint64_t end);
void add_coo_blocks(const CooTask<float>& task, std::uint64_t nnz, std::uint64_t begin, std::uint64_t end);

}  // namespace blco
