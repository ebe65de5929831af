// What the formats of the CSF family store and do, counted as Nisa et al. count (SC 2019, sections 3 and 5).
//
// `nodes` is of one tree or list, as count_nodes gives it: slices first, nonzeros last.
#pragma once

#include <cstdint>
#include <span>

namespace blco {

// Words of 4 bytes for indices and pointers. The last entry of each array of pointers is left out.
std::uint64_t csf_words(std::span<const std::uint64_t> nodes);
// Of a tree with paired roots: each node of level 1 has the index of its slice, and there are no pointers to it.
std::uint64_t mm_csf_words(std::span<const std::uint64_t> nodes);
// Of slices whose nonzeros have no fibers: pointers and indices of slices, and the other indices of each nonzero.
std::uint64_t csl_words(std::uint64_t slices, std::uint64_t nnz, std::uint64_t order);
std::uint64_t coo_words(std::uint64_t nnz, std::uint64_t order);

// Of one MTTKRP; times the rank.
struct CsfWork {
  std::uint64_t flops = 0;
  std::uint64_t row_reads = 0;   // of factors
  std::uint64_t row_writes = 0;  // of the output: each also reads the row

  CsfWork& operator+=(const CsfWork& other);
};

// Into the mode of level `target`. The product of the rows above is counted anew for each node of that level.
CsfWork csf_work(std::span<const std::uint64_t> nodes, std::size_t target);
// Into the first mode of a list.
CsfWork csl_work(std::uint64_t slices, std::uint64_t nnz, std::uint64_t order);
CsfWork coo_work(std::uint64_t nnz, std::uint64_t order);

}  // namespace blco
