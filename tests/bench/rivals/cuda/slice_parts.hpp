// Cuts slices into parts for the blocks and warps of a GPU (Nisa et al., IPDPS 2019).
#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/rivals/csf/csf_tree.hpp"
#include "tests/bench/rivals/csf/hb_parts.hpp"

namespace blco {

// A part is `words_per_part` words: first unit and end, then where it lies. A unit is a last-level fiber of a tree, or
// a nonzero of a list. The first `block_parts` parts are for a block each, the others for a warp each.
struct SliceParts {
  std::vector<std::uint32_t> words;
  std::uint32_t words_per_part = 0;
  std::uint32_t block_parts = 0;

  std::uint32_t count() const { return static_cast<std::uint32_t>(words.size() / words_per_part); }
};

// A slice with at most this many nonzeros and fibers is for one warp (the authors' code of B-CSF).
inline constexpr std::uint64_t warp_slice_size = 1024;

// Every other slice becomes parts of whole fibers, with `part_nnz` nonzeros each at most, or one fiber of more; 0: one
// part. From order 3 on, a part lies in a slice with the given coordinate, and under nodes of levels N-3 to 1: order
// words in all. The tree has no paired roots.
SliceParts cut_slices(const CsfTree& tree, std::uint64_t part_nnz);
// The same of a CSL list: three words, the last is the slice's coordinate.
SliceParts cut_slices(const SliceList& list, std::uint64_t part_nnz);

}  // namespace blco
