// The kernel of the CSF family: output[i_n] += down * up at every node of the target level (tree_walk.cuh).
//
// Work is cut by slices (Nisa et al., IPDPS 2019): a block takes a part of a heavy slice, its warps take the fibers of
// the part in turns, and a light slice has one warp. Lanes are columns. A warp's sums stay in registers until its last
// fiber, so that it adds one row of the root to the output. Or it is cut by fibers (Nisa et al., SC 2019): a team of
// warps takes a few neighbouring ones, whatever their slices. The warps of a team share each fiber's nonzeros; above
// three modes they take fibers in turns.
#pragma once

#include "tests/bench/rivals/cuda/tree_walk.cuh"

namespace blco::cuda {

inline constexpr unsigned most_tree_threads = 512;

// The part of a slice that the thread's warp takes. A warp may be a few lanes only, at small ranks.
template <class T, int Heights>
__device__ inline FiberRange<Heights> range_of_part(const TreeArguments<T>& arguments, int heights) {
  const auto lanes = static_cast<unsigned>(arguments.lanes);
  const unsigned warps = blockDim.x / lanes;
  const unsigned warp = threadIdx.x / lanes;
  const bool has_block = blockIdx.x < arguments.block_parts;
  std::uint64_t number = blockIdx.x;
  if (!has_block) number = arguments.block_parts + (number - arguments.block_parts) * warps + warp;
  FiberRange<Heights> range;
  if (number >= arguments.part_count) return range;

  const std::uint32_t* part = arguments.parts + number * static_cast<std::uint64_t>(heights + 2);
  range.first = __ldg(part) + (has_block ? warp : 0);
  range.end = __ldg(part + 1);
  range.step = has_block ? warps : 1;
  if (heights > 0) range.slice = __ldg(part + 2);
#pragma unroll
  for (int h = 0; h < Heights - 1; ++h) {
    if (h < heights - 1) range.node[h] = __ldg(part + 3 + h);
  }
  return range;
}

// The fibers of the thread's team.
template <class T, int Heights>
__device__ inline FiberRange<Heights> range_of_team(const TreeArguments<T>& arguments, int heights) {
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / arguments.lanes;
  const std::uint64_t begin = warp / arguments.team_warps * arguments.team_nodes;
  const auto turn = static_cast<std::uint32_t>(warp % arguments.team_warps);
  FiberRange<Heights> range;
  if (begin >= arguments.node_count) return range;

  auto first = static_cast<std::uint32_t>(begin);
  auto end = static_cast<std::uint32_t>(min(begin + arguments.team_nodes, std::uint64_t{arguments.node_count}));
  if (heights > 0) range.slice = __ldg(arguments.slices + first);
#pragma unroll
  for (int h = Heights - 2; h >= 0; --h) {
    if (h > heights - 2) continue;
    range.node[h] = first;
    first = __ldg(arguments.above[h].child + first);
    end = __ldg(arguments.above[h].child + end);
  }
  range.first = first + (heights > 1 ? turn : 0);
  range.end = end;
  range.step = heights > 1 ? arguments.team_warps : 1;
  range.leaf_first = heights > 1 ? 0 : turn;
  range.leaf_step = heights > 1 ? 1 : arguments.team_warps;
  return range;
}

template <class T, int Order, int Columns, TreeTarget Target>
__global__ void __launch_bounds__(most_tree_threads, 1)
    tree_kernel(const __grid_constant__ TreeArguments<T> arguments) {
  using Walk = TreeWalk<T, Order, Columns, Target>;
  const int heights = Order == rival_any_order ? arguments.heights : Order - 2;
  const auto range = arguments.team_nodes > 0 ? range_of_team<T, Walk::most_heights>(arguments, heights)
                                              : range_of_part<T, Walk::most_heights>(arguments, heights);
  if (range.first >= range.end) return;
  const int lane = static_cast<int>(threadIdx.x) % arguments.lanes;
  for (int first = lane; first < arguments.rank; first += arguments.lanes * Columns) {
    Walk walk(arguments, {first, arguments.lanes, arguments.rank});
    walk.run(range);
  }
}

template <class T>
using TreeKernel = void (*)(TreeArguments<T>);

template <class T, int Order, int Columns>
TreeKernel<T> tree_kernel_of(TreeTarget target) {
  if (target == TreeTarget::root) return tree_kernel<T, Order, Columns, TreeTarget::root>;
  if (target == TreeTarget::fiber) return tree_kernel<T, Order, Columns, TreeTarget::fiber>;
  if (target == TreeTarget::leaf) return tree_kernel<T, Order, Columns, TreeTarget::leaf>;
  if constexpr (Order != 3) return tree_kernel<T, Order, Columns, TreeTarget::inner>;
  return nullptr;
}

template <class T, int Columns>
TreeKernel<T> tree_kernel_for(TreeTarget target, int order) {
  if (order == 3) return tree_kernel_of<T, 3, Columns>(target);
  if (order == 4) return tree_kernel_of<T, 4, Columns>(target);
  if (order == 5) return tree_kernel_of<T, 5, Columns>(target);
  return tree_kernel_of<T, rival_any_order, Columns>(target);
}

template <class T>
void launch_tree(TreeTarget target, TreeArguments<T> arguments, cudaStream_t stream) {
  const ColumnShape shape = warp_columns(arguments.rank);
  arguments.lanes = shape.lanes;
  const unsigned warps = arguments.threads / static_cast<unsigned>(shape.lanes);
  std::uint64_t blocks = 0;
  if (arguments.team_nodes > 0) {
    const std::uint64_t teams = (std::uint64_t{arguments.node_count} + arguments.team_nodes - 1) / arguments.team_nodes;
    blocks = (teams * arguments.team_warps + warps - 1) / warps;
  } else {
    blocks = arguments.block_parts + (arguments.part_count - arguments.block_parts + warps - 1) / warps;
  }
  if (blocks == 0) return;
  const int order = arguments.heights + 2;
  const TreeKernel<T> kernel =
      shape.columns == 1 ? tree_kernel_for<T, 1>(target, order) : tree_kernel_for<T, 2>(target, order);
  launch("launching the kernel of CSF", kernel, {.blocks = static_cast<unsigned>(blocks), .threads = arguments.threads},
         stream, arguments);
}

}  // namespace blco::cuda
