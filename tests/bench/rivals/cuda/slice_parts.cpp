#include "tests/bench/rivals/cuda/slice_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace blco {
namespace {

// Collects parts for blocks apart from those for warps.
class PartList {
 public:
  explicit PartList(std::size_t words) { parts_.words_per_part = static_cast<std::uint32_t>(words); }

  void add(bool for_block, std::uint32_t first, std::uint32_t end, std::span<const std::uint32_t> place) {
    std::vector<std::uint32_t>& to = for_block ? parts_.words : for_warps_;
    to.push_back(first);
    to.push_back(end);
    to.insert(to.end(), place.begin(), place.end());
  }

  SliceParts take() {
    parts_.block_parts = parts_.count();
    parts_.words.insert(parts_.words.end(), for_warps_.begin(), for_warps_.end());
    return std::move(parts_);
  }

 private:
  SliceParts parts_;
  std::vector<std::uint32_t> for_warps_;
};

// The place of a part: the slice's coordinate, and the node of each level above its first fiber, lowest first.
class FiberPlace {
 public:
  explicit FiberPlace(const CsfTree& tree) : tree_(tree), levels_(tree.order() - 2), place_(levels_) {}

  void start_slice(std::uint32_t slice) {
    if (levels_ == 0) return;
    place_[0] = tree_.index[0][slice];
    std::uint32_t node = slice;
    for (std::size_t level = 1; level < levels_; ++level) {
      node = tree_.child[level - 1][node];
      place_[levels_ - level] = node;
    }
  }
  // To a fiber of the same slice, at or behind the last one.
  void go_to(std::uint32_t fiber) {
    std::uint32_t below = fiber;
    for (std::size_t level = levels_; level-- > 1;) {
      std::uint32_t& node = place_[levels_ - level];
      while (tree_.child[level][node + std::size_t{1}] <= below) ++node;
      below = node;
    }
  }
  std::span<const std::uint32_t> words() const { return place_; }

 private:
  const CsfTree& tree_;
  std::size_t levels_;
  std::vector<std::uint32_t> place_;
};

}  // namespace

SliceParts cut_slices(const CsfTree& tree, std::uint64_t part_nnz) {
  const std::size_t fibers = tree.order() - 2;  // their level
  const std::vector<std::uint32_t>& leaf = tree.child[fibers];
  PartList parts(tree.order());
  FiberPlace place(tree);
  for (std::uint32_t slice = 0; slice < tree.nodes(0); ++slice) {
    std::uint32_t first = slice;
    std::uint32_t end = slice + 1;
    for (std::size_t level = 0; level < fibers; ++level) {
      first = tree.child[level][first];
      end = tree.child[level][end];
    }
    place.start_slice(slice);
    const std::uint64_t size = std::uint64_t{leaf[end]} - leaf[first] + (end - first);
    if (size <= warp_slice_size || part_nnz == 0) {
      parts.add(size > warp_slice_size, first, end, place.words());
      continue;
    }
    while (first < end) {
      std::uint32_t next = first + 1;
      while (next < end && std::uint64_t{leaf[next + std::size_t{1}]} - leaf[first] <= part_nnz) ++next;
      place.go_to(first);
      parts.add(true, first, next, place.words());
      first = next;
    }
  }
  return parts.take();
}

SliceParts cut_slices(const SliceList& list, std::uint64_t part_nnz) {
  PartList parts(3);
  for (std::size_t slice = 0; slice < list.slices(); ++slice) {
    const std::span<const std::uint32_t> place(&list.index[0][slice], 1);
    const std::uint64_t end = list.child[slice + 1];
    // A nonzero is a fiber too.
    const bool for_block = 2 * (end - list.child[slice]) > warp_slice_size;
    const std::uint64_t step = for_block && part_nnz != 0 ? part_nnz : end;
    for (std::uint64_t first = list.child[slice]; first < end; first += step) {
      parts.add(for_block, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::min(end, first + step)),
                place);
    }
  }
  return parts.take();
}

}  // namespace blco
