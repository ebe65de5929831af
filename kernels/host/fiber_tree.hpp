// A decoded chunk as a tree of fibers, for passes in which neighbours share the products of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/csf/csf_cuts.hpp"
#include "kernels/csf/csf_tree.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"

namespace blco {

// Mean nonzeros of a fiber from which a tree is faster than copies sorted per mode.
inline constexpr std::uint64_t min_fiber_nnz = 4;

// Coordinates count from the lower bounds of the chunk. T: double or float, of values, factors and output.
template <class T>
struct FiberTree {
  CsfTree tree;  // without the numbers of its nonzeros
  AlignedBuffer<T> values;
  std::vector<CsfPart> parts;  // at most one per thread

  std::size_t level_of(int mode) const;
  // True if a pass of this mode is faster than over a copy sorted for it.
  bool serves(int mode) const { return level_of(mode) + 1 < tree.order(); }
};

// Upper bounds of the memory of a tree with `nodes` per level, nonzeros last, and of what its construction takes beside
// it.
template <class T>
std::uint64_t fiber_tree_bytes(std::span<const std::uint64_t> nodes);
std::uint64_t fiber_scratch_bytes(int order, std::uint64_t nnz, int threads);
// The same of any tree that is kept of a chunk with `nnz` nonzeros.
std::uint64_t most_fiber_tree_bytes(const BackendConfig& config, std::uint64_t nnz);

// Makes a tree of a decoded chunk: the leaves are of the mode that has the longest fibers. Returns nothing if they are
// shorter than min_fiber_nnz, or tree and construction take more than `room` bytes. One ring per thread of `executor`.
template <class T>
std::optional<FiberTree<T>> build_fiber_tree(const FrameDecoder& decoder, const FrameSource& source, int order,
                                             std::span<FrameRing> rings, std::uint64_t room, Executor& executor);

// What a pass of one mode reads and where a part of it adds.
template <class T>
struct FiberPass {
  int mode = 0;
  std::span<const T* const> factors;  // per mode its row 0
  IndexedRows<T> target;
  std::uint64_t stride = 0;  // elements from one row to the next, in every matrix
};

// Adds the nonzeros of one part of the tree of `source` to the target.
template <class T>
void mttkrp_fibers(const FiberTree<T>& tree, const FrameSource& source, const FiberPass<T>& pass, std::size_t part);

// True if chunks may have trees: on several threads, which add to private rows, in one precision.
bool can_keep_trees(const BackendConfig& config, int threads);

}  // namespace blco
