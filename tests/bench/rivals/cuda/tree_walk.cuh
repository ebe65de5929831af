// How a warp walks over fibers of a tree of the CSF family (Smith and Karypis, 2015).
//
// With `down`, the product of rows above a node, and `up`, the sum over its children of the child's row times the
// child's up (of a leaf: value times row): every node of the target level adds down * up to the row of its coordinate.
#pragma once

#include "tests/bench/rivals/cuda/lane_columns.cuh"
#include "tests/bench/rivals/cuda/tree_arguments.hpp"

namespace blco::cuda {

// Fibers of one warp: first, first + step, ... below end; of their leaves every leaf_step-th from leaf_first on.
// Heights: as many as the tree has, or more.
template <int Heights>
struct FiberRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t step = 1;
  std::uint32_t leaf_first = 0;
  std::uint32_t leaf_step = 1;
  // Where the walk begins, at `first` or before it.
  std::uint32_t slice = 0;           // coordinate
  std::uint32_t node[Heights] = {};  // by height, below the slice
};

// A lane's registers hold the sums of the node that the walk is at, on each level above the fibers, and the products of
// the rows from the root down to it.
template <class T, int Order, int Columns, TreeTarget Target>
class TreeWalk {
 public:
  static constexpr int most_heights = Order == rival_any_order ? most_tree_heights : Order - 2;

  __device__ TreeWalk(const TreeArguments<T>& arguments, const LaneColumns<T, Columns>& columns)
      : arguments_(arguments), columns_(columns) {}

  __device__ void run(const FiberRange<most_heights>& range) {
    start(range);
    for (std::uint32_t fiber = range.first; fiber < range.end; fiber += range.step) {
      go_to(fiber);
      const std::uint32_t begin = __ldg(arguments_.fiber_child + fiber) + range.leaf_first;
      const std::uint32_t end = __ldg(arguments_.fiber_child + fiber + 1);
      if (begin < end) add_fiber(fiber, begin, end, range.leaf_step);
    }
#pragma unroll
    for (int h = 0; h < most_heights; ++h) {
      if (h < heights()) leave(h);
    }
  }

 private:
  static constexpr bool adds_above = Target == TreeTarget::root || Target == TreeTarget::inner;

  __device__ int heights() const { return Order == rival_any_order ? arguments_.heights : Order - 2; }
  __device__ int target_height() const { return Target == TreeTarget::root ? heights() - 1 : arguments_.target_height; }
  __device__ std::uint32_t row(int h) const {
    return h == heights() - 1 ? slice_ : __ldg(arguments_.above[h].index + node_[h]);
  }

  __device__ void start(const FiberRange<most_heights>& range) {
    slice_ = range.slice;
#pragma unroll
    for (int h = 0; h < most_heights; ++h) {
      if (h >= heights() - 1) break;
      node_[h] = range.node[h];
      end_[h] = __ldg(arguments_.above[h].child + node_[h] + 1);
    }
    multiply_down(heights() - 1);
  }

  // Makes the nodes those above the fiber, which is not before the last one.
  __device__ void go_to(std::uint32_t fiber) {
    int changed = -1;
    std::uint32_t child = fiber;
    bool is_within = false;
#pragma unroll
    for (int h = 0; h < most_heights - 1; ++h) {
      if (h >= heights() - 1 || is_within) continue;
      is_within = child < end_[h];
      if (is_within) continue;
      leave(h);
      do {
        ++node_[h];
        end_[h] = __ldg(arguments_.above[h].child + node_[h] + 1);
      } while (child >= end_[h]);
      child = node_[h];
      changed = h;
    }
    if (arguments_.slices != nullptr && !is_within) {
      const std::uint32_t slice = __ldg(arguments_.slices + child);
      if (slice != slice_) {
        leave_slice();
        slice_ = slice;
        changed = heights() - 1;
      }
    }
    if (changed >= 0) multiply_down(changed);
  }

  // Products of rows from the top down, where they changed: at heights up to `changed`.
  __device__ void multiply_down(int changed) {
    if constexpr (Target != TreeTarget::root) {
      const int lowest = Target == TreeTarget::inner ? target_height() + 1 : 0;
#pragma unroll
      for (int h = most_heights - 1; h >= 0; --h) {
        if (h >= heights() || h > changed || h < lowest) continue;
        T product[Columns];
        fill(product, T{1});
        if (h + 1 < most_heights && h + 1 < heights()) {
#pragma unroll
          for (int c = 0; c < Columns; ++c) product[c] = down_[h + 1 < most_heights ? h + 1 : h][c];
        }
        columns_.multiply(product, arguments_.above[h].rows, row(h));
#pragma unroll
        for (int c = 0; c < Columns; ++c) down_[h][c] = product[c];
      }
    }
  }

  __device__ void leave_slice() {
#pragma unroll
    for (int h = 0; h < most_heights; ++h) {
      if (h == heights() - 1) leave(h);
    }
  }

  // Gives the sums of the node at height h to its parent, or to the output.
  __device__ void leave(int h) {
    if constexpr (adds_above) {
      if (!has_sums_ || h > target_height()) return;
      if (h < target_height()) {
        const int parent = h + 1 < most_heights ? h + 1 : h;
        columns_.add_product(sums_[parent], sums_[h], arguments_.above[h].rows, row(h));
      } else {
        if (Target == TreeTarget::inner) {
          const int parent = h + 1 < most_heights ? h + 1 : h;
#pragma unroll
          for (int c = 0; c < Columns; ++c) sums_[h][c] *= down_[parent][c];
        }
        columns_.add_atomically(arguments_.output, row(h), sums_[h]);
        has_sums_ = false;
      }
      fill(sums_[h], T{0});
    }
  }

  // Leaves whose loads are on their way at once. Beyond the end values are 0, and nothing is loaded.
  struct LeafBatch {
    std::uint32_t rows[rival_in_flight];
    T values[rival_in_flight];
    bool has[rival_in_flight];
  };

  // Calls work(batch) for the leaves begin, begin + step, ... below end.
  template <class Work>
  __device__ void for_each_batch(std::uint32_t begin, std::uint32_t end, std::uint32_t step, const Work& work) const {
    for (std::uint32_t at = begin, left = end - begin;;) {
      LeafBatch batch;
#pragma unroll
      for (unsigned e = 0; e < rival_in_flight; ++e) {
        batch.has[e] = e * step < left;
        batch.rows[e] = batch.has[e] ? __ldg(arguments_.leaf_index + at + e * step) : 0;
        batch.values[e] = batch.has[e] ? __ldg(arguments_.values + at + e * step) : T{0};
      }
      work(batch);
      if (left <= rival_in_flight * step) return;
      left -= rival_in_flight * step;
      at += rival_in_flight * step;
    }
  }

  __device__ void add_fiber(std::uint32_t fiber, std::uint32_t begin, std::uint32_t end, std::uint32_t step) {
    const std::uint32_t fiber_row = __ldg(arguments_.fiber_index + fiber);
    T numbers[Columns];
    if constexpr (Target == TreeTarget::leaf) {
      copy_down(numbers);
      columns_.multiply(numbers, arguments_.fiber_rows, fiber_row);
      for_each_batch(begin, end, step, [&](const LeafBatch& batch) { add_to_leaves(batch, numbers); });
      return;
    }
    fill(numbers, T{0});
    for_each_batch(begin, end, step, [&](const LeafBatch& batch) { add_leaves(batch, numbers); });
    if constexpr (Target == TreeTarget::fiber) {
      T down[Columns];
      copy_down(down);
#pragma unroll
      for (int c = 0; c < Columns; ++c) numbers[c] *= down[c];
      columns_.add_atomically(arguments_.output, fiber_row, numbers);
    } else {
      columns_.add_product(sums_[0], numbers, arguments_.fiber_rows, fiber_row);
      has_sums_ = true;
    }
  }

  // sums += value * row of each leaf.
  __device__ void add_leaves(const LeafBatch& batch, T (&sums)[Columns]) const {
    T rows[rival_in_flight][Columns];
#pragma unroll
    for (int e = 0; e < rival_in_flight; ++e) {
      const T* from = arguments_.leaf_rows + columns_.start_of(batch.rows[e]);
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        rows[e][c] = batch.has[e] && columns_.has(c) ? __ldg(from + c * columns_.lanes) : T{0};
      }
    }
#pragma unroll
    for (int e = 0; e < rival_in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) sums[c] += batch.values[e] * rows[e][c];
    }
  }

  // Adds value * product to the row of each leaf.
  __device__ void add_to_leaves(const LeafBatch& batch, const T (&product)[Columns]) const {
#pragma unroll
    for (int e = 0; e < rival_in_flight; ++e) {
      if (!batch.has[e]) continue;
      T products[Columns];
#pragma unroll
      for (int c = 0; c < Columns; ++c) products[c] = batch.values[e] * product[c];
      columns_.add_atomically(arguments_.output, batch.rows[e], products);
    }
  }

  // The product of all rows above a fiber.
  __device__ void copy_down(T (&numbers)[Columns]) const {
#pragma unroll
    for (int c = 0; c < Columns; ++c) numbers[c] = heights() > 0 ? down_[0][c] : T{1};
  }

  const TreeArguments<T>& arguments_;
  LaneColumns<T, Columns> columns_;
  std::uint32_t slice_ = 0;  // coordinate
  std::uint32_t node_[most_heights] = {};
  std::uint32_t end_[most_heights] = {};  // of the node's children
  T sums_[most_heights][Columns] = {};
  T down_[most_heights][Columns] = {};
  bool has_sums_ = false;
};

}  // namespace blco::cuda
