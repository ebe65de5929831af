// MTTKRP on a part of a tree, vectorised along the rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/csf/row_locks.hpp"

namespace blco {

inline constexpr std::size_t max_csf_levels = 8;

template <class T>
struct CsfLevel {
  const std::uint32_t* index = nullptr;  // of each node
  const std::uint32_t* child = nullptr;  // first child of each node, then the end; nullptr: node i has child i only
  const T* matrix = nullptr;             // what the indices point into: a factor, or on the target level the output
  bool prefetch = false;                 // of its rows
};

// A CsfTree; or a SliceList, of which level 0 has the slices and all other levels the nonzeros.
template <class T>
struct CsfTask {
  std::array<CsfLevel<T>, max_csf_levels> levels;
  std::size_t order = 0;
  std::size_t target = 0;  // level of the output's mode; 0 for a list
  const T* values = nullptr;
  T* output = nullptr;
  std::uint64_t stride = 0;   // elements from one row to the next, in every matrix: padded_rank<T>
  RowLocks* locks = nullptr;  // for rows that other parts may add to; nullptr: none do
};

// Per level the nodes [begin, end) that have nonzeros in the part; its first and last ones may have nonzeros in other
// parts too.
struct CsfPart {
  std::array<std::uint32_t, max_csf_levels> begin{};
  std::array<std::uint32_t, max_csf_levels> end{};
};

// out[i] += (product of the rows above) * (sum over the subtree below) at each node i of the target level. If that is
// level 0, the rows of a part other than the first and the last one belong to it alone, and no lock is taken for them.
template <class T>
void mttkrp_csf(const CsfTask<T>& task, const CsfPart& part);

}  // namespace blco
