// The arguments of one launch on a tree of the CSF family.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace blco::cuda {

// Levels above the fibers of a tree of 8 modes.
inline constexpr int most_tree_heights = 6;

// Which level the target mode is: the root, one between it and the fibers, the fibers, or the leaves.
enum class TreeTarget { root, inner, fiber, leaf };

// A level above the fibers.
template <class T>
struct TreeLevel {
  const std::uint32_t* index = nullptr;  // per node
  const std::uint32_t* child = nullptr;  // per node, and the end; of the root null
  const T* rows = nullptr;               // the factor
};

// Passed by value. Levels are counted from the fibers upward: height 0 holds their parents, height `heights` - 1 the
// slices. All arrays are in device memory.
template <class T>
struct TreeArguments {
  TreeLevel<T> above[most_tree_heights] = {};
  int heights = 0;  // order - 2
  const std::uint32_t* fiber_index = nullptr;
  const std::uint32_t* fiber_child = nullptr;  // first leaf of each fiber, and the end
  const T* fiber_rows = nullptr;
  const std::uint32_t* leaf_index = nullptr;
  const T* leaf_rows = nullptr;
  const T* values = nullptr;  // per leaf
  T* output = nullptr;
  int target_height = 0;  // of TreeTarget::inner

  // Either work is listed in parts, each within a slice (slice_parts.hpp): the first `block_parts` have a block each,
  // the others a warp each.
  const std::uint32_t* parts = nullptr;
  std::uint32_t part_count = 0;
  std::uint32_t block_parts = 0;
  // Or `team_warps` warps at a time take `team_nodes` neighbouring nodes of the level below the roots, of which each
  // names its slice; without a level between, of the fibers. 0: work is listed.
  std::uint32_t team_nodes = 0;
  std::uint32_t team_warps = 1;
  std::uint32_t node_count = 0;
  const std::uint32_t* slices = nullptr;  // per node: its slice; null for two modes

  int rank = 0;
  int lanes = 0;
  unsigned threads = 0;  // of a block
};

// Queues the kernel that adds what the tree contributes. arguments.lanes is set there. T: double or float.
template <class T>
void launch_tree(TreeTarget target, TreeArguments<T> arguments, cudaStream_t stream);

}  // namespace blco::cuda
