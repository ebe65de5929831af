#include "kernels/csf/csf_cuts.hpp"

#include <algorithm>

namespace blco {

std::uint32_t parent_of(std::span<const std::uint32_t> child, std::uint32_t node) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(child, node) - child.begin() - 1);
}

std::vector<std::uint32_t> even_cuts(std::uint64_t nnz, std::uint64_t parts) {
  std::vector<std::uint32_t> cuts;
  for (std::uint64_t part = 0; part <= parts; ++part) cuts.push_back(static_cast<std::uint32_t>(nnz * part / parts));
  return cuts;
}

std::vector<CsfPart> cut_tree(const CsfTree& tree, std::uint64_t parts) {
  const std::size_t last = tree.order() - 1;
  const std::uint64_t nnz = tree.nodes(last);
  if (nnz == 0) return {};
  std::vector<std::uint32_t> cuts = even_cuts(nnz, parts);
  for (std::size_t i = 1; i < parts; ++i) {
    const std::uint32_t begin = tree.child[last - 1][parent_of(tree.child[last - 1], cuts[i])];
    if (cuts[i] - begin <= nnz / parts / 4) cuts[i] = begin;
  }
  std::vector<CsfPart> made;
  for (std::size_t i = 0; i < parts; ++i) {
    if (cuts[i] == cuts[i + 1]) continue;
    CsfPart part;
    part.begin[last] = cuts[i];
    part.end[last] = cuts[i + 1];
    for (std::size_t level = last; level-- > 0;) {
      const std::span<const std::uint32_t> child = tree.child[level];
      const std::uint32_t begin = part.begin[level + 1];
      const std::uint32_t back = part.end[level + 1] - 1;
      part.begin[level] = child.empty() ? begin : parent_of(child, begin);
      part.end[level] = (child.empty() ? back : parent_of(child, back)) + 1;
    }
    made.push_back(part);
  }
  return made;
}

}  // namespace blco
