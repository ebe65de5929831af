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
#include "kernels/csf/csf_tree.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// Mean nonzeros of a fiber from which a tree is faster than copies sorted per mode. In shorter ones, a processor too
// often mistakes where they end.
inline constexpr std::uint64_t min_fiber_nnz = 24;
// Each fiber reads rows of its mode across the whole chunk: they must stay in the L2 cache, while line order reads
// those of neighbours only.
inline constexpr std::uint64_t max_leaf_bytes = 4 * cached_bytes;
// With fewer modes, sharing the products of a fiber saves too little.
inline constexpr int min_tree_order = 4;

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

// What bounds the making of trees.
struct TreeLimits {
  std::uint64_t row_bytes = 0;  // of a factor
  std::uint64_t room = 0;       // for the tree and its construction
};

// Makes a tree of a decoded chunk: of the modes whose rows take at most max_leaf_bytes, the leaves are of that with the
// longest fibers. Returns nothing if they are shorter than min_fiber_nnz, or there is no room. One ring per thread of
// `executor`.
template <class T>
std::optional<FiberTree<T>> build_fiber_tree(const FrameDecoder& decoder, const FrameSource& source, int order,
                                             std::span<FrameRing> rings, const TreeLimits& limits, Executor& executor);

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

// True if chunks may have trees: on several threads, in one precision, with matrices that stay in the caches.
bool can_keep_trees(const BackendConfig& config, int threads);

}  // namespace blco
