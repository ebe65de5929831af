#include "tests/bench/rivals/list_cuts.hpp"

#include "tests/bench/rivals/csf/csf_tree.hpp"

namespace blco {

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
      part.begin[0] = parent_of(list.child, cuts[i]);
      part.end[0] = parent_of(list.child, cuts[i + 1] - 1) + 1;
    }
    made.push_back(part);
  }
  return made;
}

}  // namespace blco
