#include "kernels/rivals/csf_cuts.hpp"

#include <algorithm>
#include <span>

namespace blco {
namespace {

// The node that has a child; `child` as in a CsfTree.
std::uint32_t parent(std::span<const std::uint32_t> child, std::uint32_t node) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(child, node) - child.begin() - 1);
}

// Cuts before nonzeros, ascending, between the first and the last.
std::vector<std::uint32_t> even_cuts(std::uint64_t nnz, std::uint64_t parts) {
  std::vector<std::uint32_t> cuts;
  for (std::uint64_t part = 0; part <= parts; ++part) cuts.push_back(static_cast<std::uint32_t>(nnz * part / parts));
  return cuts;
}

}  // namespace

std::vector<CsfPart> cut_tree(const CsfTree& tree, std::uint64_t parts) {
  const std::size_t last = tree.order() - 1;
  const std::uint64_t nnz = tree.nodes(last);
  if (nnz == 0) return {};
  std::vector<std::uint32_t> cuts = even_cuts(nnz, parts);
  for (std::size_t i = 1; i < parts; ++i) {
    const std::uint32_t begin = tree.child[last - 1][parent(tree.child[last - 1], cuts[i])];
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
      part.begin[level] = child.empty() ? begin : parent(child, begin);
      part.end[level] = (child.empty() ? back : parent(child, back)) + 1;
    }
    made.push_back(part);
  }
  return made;
}

std::vector<CsfPart> cut_list(const SliceList& list, std::uint64_t parts) {
  if (list.nnz() == 0) return {};
  const std::vector<std::uint32_t> cuts = even_cuts(list.nnz(), parts);
  std::vector<CsfPart> made;
  for (std::size_t i = 0; i < parts; ++i) {
    if (cuts[i] == cuts[i + 1]) continue;
    CsfPart part;
    part.begin.fill(cuts[i]);
    part.end.fill(cuts[i + 1]);
    if (!list.is_coo()) {
      part.begin[0] = parent(list.child, cuts[i]);
      part.end[0] = parent(list.child, cuts[i + 1] - 1) + 1;
    }
    made.push_back(part);
  }
  return made;
}

}  // namespace blco
