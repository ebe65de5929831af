// The trees and lists that a format of the CSF family makes of a tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/csf/csf_counts.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"
#include "tests/bench/rivals/csf/hb_parts.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

using CsfPiece = std::variant<CsfTree, SliceList>;

// True if each piece serves one mode only, its root: the tensor is stored once per mode.
bool has_piece_per_mode(RivalKind kind);

// Builds the pieces one after the other and hands each to `take`; none is without nonzeros. `kind` is of the family.
//   csf_one  one tree, the shortest mode at the root and the longest at the leaves
//   csf_all  a tree per root, the other modes by ascending length
//   b_csf    as csf_all, fibers split
//   hb_csf   as b_csf, but slices of one nonzero become a list, and those whose fibers all have one nonzero another
//   mm_csf   a tree with paired roots per partition
void build_csf_pieces(RivalKind kind, const RivalTensor& tensor, const RivalKnobs& knobs, Executor& executor,
                      const std::function<void(CsfPiece)>& take);

// Words of 4 bytes for indices and pointers (csf_counts.hpp).
std::uint64_t index_words(const CsfPiece& piece);
RivalPart part_of(const CsfPiece& piece);
// Of one MTTKRP into `mode`. Of a list it is the first one.
CsfWork work_of(const CsfPiece& piece, int mode);

}  // namespace blco
