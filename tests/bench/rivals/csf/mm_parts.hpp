// MM-CSF's partitions: each nonzero goes where its fiber is longest (Nisa et al., SC 2019, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// A tree that nonzeros may go to. Nonzeros that agree in the first `scored` modes form a group, and the size of its
// group is what speaks for a candidate.
struct MmCandidate {
  std::vector<int> modes;  // root first
  std::size_t scored = 0;
};

// In the order in which they are tested. As in the authors' code: the shortest mode and one other come first, the rest
// ascends. Of two orders with the first two modes swapped, the shorter is the root, since they share fibers. So N-1
// candidates, with groups of two equal coordinates: fibers at order 3, subtrees of level 1 beyond. Order 2 has two
// candidates, one per root.
// `every_leaf`: one per leaf, the longest mode first, the rest ascending; groups are fibers at any order.
std::vector<MmCandidate> mm_candidates(std::span<const std::uint64_t> shape, bool every_leaf);

struct MmPart {
  std::vector<int> modes;             // root first
  std::vector<std::uint32_t> sorted;  // numbers of its nonzeros, sorted by the modes
};

enum class MmStrategy {
  by_current_size,  // a nonzero leaves its groups in all other candidates (the dynamic strategy)
  by_first_size,    // groups keep their sizes (the static strategy)
};

// The partitions that are not empty. Nonzeros are visited in the tensor's order, by one thread; each takes the
// candidate with the largest group, of equal ones the first (algorithm 5). Takes at most 16 bytes per nonzero and
// candidate, beside the result.
std::vector<MmPart> mm_parts(const RivalTensor& tensor, std::span<const MmCandidate> candidates, MmStrategy strategy,
                             Executor& executor);

}  // namespace blco
