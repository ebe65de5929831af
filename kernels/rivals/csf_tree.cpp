#include "kernels/rivals/csf_tree.hpp"

#include <algorithm>

namespace blco {
namespace {

// The first level on which two neighbours differ; the last level if on none.
std::size_t first_change(const RivalTensor& tensor, std::span<const int> modes, std::uint32_t before,
                         std::uint32_t after) {
  std::size_t level = 0;
  while (level + 1 < modes.size()) {
    const auto coordinates = tensor.coordinates[static_cast<std::size_t>(modes[level])];
    if (coordinates[before] != coordinates[after]) break;
    ++level;
  }
  return level;
}

}  // namespace

CsfTree build_csf(const RivalTensor& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
                  std::uint32_t fiber_limit) {
  const std::size_t last = modes.size() - 1;
  CsfTree tree;
  tree.modes.assign(modes.begin(), modes.end());
  tree.index.resize(modes.size());
  tree.child.resize(last);
  tree.nonzero.assign(sorted.begin(), sorted.end());
  const auto coordinates = [&](std::size_t level) {
    return tensor.coordinates[static_cast<std::size_t>(modes[level])];
  };

  std::uint32_t fiber_nnz = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::size_t level = i == 0 ? 0 : first_change(tensor, modes, sorted[i - 1], sorted[i]);
    if (level == last && last > 0 && fiber_limit != 0 && fiber_nnz == fiber_limit) level = last - 1;
    if (level < last) fiber_nnz = 0;
    for (; level < last; ++level) {
      tree.index[level].push_back(coordinates(level)[sorted[i]]);
      tree.child[level].push_back(static_cast<std::uint32_t>(level + 1 == last ? i : tree.index[level + 1].size()));
    }
    ++fiber_nnz;
  }
  tree.index[last].resize(sorted.size());
  std::ranges::transform(sorted, tree.index[last].begin(),
                         [&](std::uint32_t nonzero) { return coordinates(last)[nonzero]; });
  for (std::size_t level = 0; level < last; ++level) {
    tree.child[level].push_back(static_cast<std::uint32_t>(tree.nodes(level + 1)));
  }
  return tree;
}

}  // namespace blco
