#include "tests/bench/rivals/csf/mm_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tests/bench/rivals/natural_sort.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"

namespace blco {
namespace {

// The nonzeros in a candidate's order, and the group of each.
struct Groups {
  std::vector<std::uint32_t> sorted;
  std::vector<std::uint32_t> group_of;  // by nonzero
  std::vector<std::uint32_t> sizes;     // by group

  std::uint32_t& size_at(std::uint32_t nonzero) { return sizes[group_of[nonzero]]; }
};

Groups find_groups(const RivalTensor& tensor, const MmCandidate& candidate, Executor& executor) {
  Groups groups;
  groups.sorted = sorted_by(tensor, candidate.modes, executor);
  groups.group_of.resize(tensor.nnz());
  for (std::size_t i = 0; i < groups.sorted.size(); ++i) {
    const std::uint32_t nonzero = groups.sorted[i];
    const bool opens = i == 0 || std::ranges::any_of(std::span(candidate.modes).first(candidate.scored), [&](int mode) {
                         const auto coordinates = tensor.coordinates[static_cast<std::size_t>(mode)];
                         return coordinates[nonzero] != coordinates[groups.sorted[i - 1]];
                       });
    if (opens) groups.sizes.push_back(0);
    ++groups.sizes.back();
    groups.group_of[nonzero] = static_cast<std::uint32_t>(groups.sizes.size() - 1);
  }
  return groups;
}

std::vector<std::uint8_t> choose(std::span<Groups> groups, std::size_t nnz, MmStrategy strategy) {
  std::vector<std::uint8_t> chosen(nnz);
  for (std::uint32_t nonzero = 0; nonzero < nnz; ++nonzero) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < groups.size(); ++c) {
      if (groups[c].size_at(nonzero) > groups[best].size_at(nonzero)) best = c;
    }
    chosen[nonzero] = static_cast<std::uint8_t>(best);
    if (strategy == MmStrategy::by_first_size) continue;
    for (std::size_t c = 0; c < groups.size(); ++c) {
      if (c != best) --groups[c].size_at(nonzero);
    }
  }
  return chosen;
}

}  // namespace

std::vector<MmCandidate> mm_candidates(std::span<const std::uint64_t> shape, bool every_leaf) {
  const std::vector<int> ascending = ascending_modes(shape);
  const std::size_t order = ascending.size();
  std::vector<MmCandidate> candidates;
  if (every_leaf || order == 2) {
    for (std::size_t leaf = order; leaf-- > 0;) {
      std::vector<int> modes = ascending;
      const auto at = modes.begin() + static_cast<std::ptrdiff_t>(leaf);
      std::rotate(at, at + 1, modes.end());
      candidates.push_back({std::move(modes), order - 1});
    }
    return candidates;
  }
  for (std::size_t second = 1; second < order; ++second) {
    std::vector<int> modes = ascending;
    const auto at = modes.begin() + static_cast<std::ptrdiff_t>(second);
    std::rotate(modes.begin() + 1, at, at + 1);
    candidates.push_back({std::move(modes), 2});
  }
  return candidates;
}

std::vector<MmPart> mm_parts(const RivalTensor& tensor, std::span<const MmCandidate> candidates, MmStrategy strategy,
                             Executor& executor) {
  std::vector<Groups> groups;
  for (const MmCandidate& candidate : candidates) groups.push_back(find_groups(tensor, candidate, executor));
  const std::vector<std::uint8_t> chosen = choose(groups, tensor.nnz(), strategy);
  std::vector<MmPart> parts;
  for (std::size_t c = 0; c < groups.size(); ++c) {
    std::vector<std::uint32_t>& sorted = groups[c].sorted;
    std::erase_if(sorted, [&](std::uint32_t nonzero) { return chosen[nonzero] != c; });
    if (sorted.empty()) continue;
    sorted.shrink_to_fit();
    parts.push_back({candidates[c].modes, std::move(sorted)});
  }
  return parts;
}

}  // namespace blco
