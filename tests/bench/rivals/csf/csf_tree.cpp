#include "tests/bench/rivals/csf/csf_tree.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

constexpr std::size_t most_levels = 256;  // a level is kept in a byte

// The levels of one tree and where its nodes open, found in two steps: by coordinates, then by limits.
class TreeBuilder {
 public:
  TreeBuilder(const CoordinateLists& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
              bool paired_roots, Executor& executor)
      : sorted_(sorted),
        last_(modes.size() - 1),
        paired_roots_(paired_roots && modes.size() > 2),
        executor_(executor),
        opens_(sorted.size()) {
    for (const int mode : modes) coordinates_.push_back(tensor.coordinates[static_cast<std::size_t>(mode)]);
  }

  CsfTree build(std::uint32_t fiber_limit) {
    std::vector<Places> places;
    const Places nodes = place_nodes(fiber_limit, places);
    CsfTree tree;
    allocate(tree, nodes);
    executor_.run(parts(), [&](std::size_t part) { fill(tree, part, places[part]); });
    return tree;
  }

  std::vector<std::uint64_t> count_nodes() {
    std::vector<Places> places;
    const Places nodes = place_nodes(0, places);
    return {nodes.begin(), nodes.end()};
  }

 private:
  using Places = std::vector<std::uint32_t>;  // per level

  // Sets where the nodes of each part begin; returns how many nodes there are.
  Places place_nodes(std::uint32_t fiber_limit, std::vector<Places>& places) {
    find_openings();
    cut_into_parts();
    places.resize(parts());
    executor_.run(parts(), [&](std::size_t part) {
      if (fiber_limit != 0) split(part, fiber_limit);
      places[part] = count(part);
    });
    Places nodes(last_ + 1);
    for (Places& of_part : places) {
      for (std::size_t level = 0; level <= last_; ++level) nodes[level] += std::exchange(of_part[level], nodes[level]);
    }
    return nodes;
  }

  std::size_t parts() const { return begins_.size() - 1; }

  // The first level on which a nonzero differs from the one before; the last level if on none.
  std::size_t first_change(std::size_t i) const {
    if (i == 0) return 0;
    std::size_t level = 0;
    while (level < last_ && coordinates_[level][sorted_[i - 1]] == coordinates_[level][sorted_[i]]) ++level;
    return paired_roots_ && level == 1 ? 0 : level;
  }

  void find_openings() {
    run_shares(executor_, sorted_.size(), [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) opens_[i] = static_cast<std::uint8_t>(first_change(i));
    });
  }

  // Limits count from the beginning of a fiber, or of a root where roots are paired: no part begins within one.
  void cut_into_parts() {
    const std::size_t whole = paired_roots_ ? 0 : last_ - 1;
    const auto wanted = static_cast<std::size_t>(executor_.width());
    begins_ = {0};
    for (std::size_t part = 1; part < wanted; ++part) {
      std::size_t begin = std::max(begins_.back(), sorted_.size() * part / wanted);
      while (begin < sorted_.size() && opens_[begin] > whole) ++begin;
      begins_.push_back(begin);
    }
    begins_.push_back(sorted_.size());
  }

  void split(std::size_t part, std::uint32_t limit) {
    std::uint32_t fiber_nnz = 0;
    std::uint32_t node_nnz = 0;  // of level 1
    for (std::size_t i = begins_[part]; i < begins_[part + 1]; ++i) {
      std::uint8_t& level = opens_[i];
      if (level == last_ && fiber_nnz == limit) level = static_cast<std::uint8_t>(last_ - 1);
      if (paired_roots_ && level < last_ && (level == 1 || node_nnz >= limit)) level = 0;
      if (level < last_) fiber_nnz = 0;
      if (level <= 1) node_nnz = 0;
      ++fiber_nnz;
      ++node_nnz;
    }
  }

  Places count(std::size_t part) const {
    std::array<std::uint32_t, most_levels> openings{};
    for (std::size_t i = begins_[part]; i < begins_[part + 1]; ++i) ++openings[opens_[i]];
    Places nodes(last_ + 1);
    std::partial_sum(openings.begin(), openings.begin() + static_cast<std::ptrdiff_t>(last_ + 1), nodes.begin());
    return nodes;
  }

  void allocate(CsfTree& tree, const Places& nodes) const {
    tree.index.resize(last_ + 1);
    tree.child.resize(last_);
    for (std::size_t level = 0; level <= last_; ++level) tree.index[level].resize(nodes[level]);
    for (std::size_t level = paired_roots_ ? 1 : 0; level < last_; ++level) {
      tree.child[level].resize(nodes[level] + std::size_t{1});
      tree.child[level].back() = nodes[level + 1];
    }
  }

  void fill(CsfTree& tree, std::size_t part, Places& next) const {
    for (std::size_t i = begins_[part]; i < begins_[part + 1]; ++i) {
      for (std::size_t level = opens_[i]; level < last_; ++level) {
        const std::uint32_t node = next[level]++;
        tree.index[level][node] = coordinates_[level][sorted_[i]];
        if (!tree.child[level].empty()) tree.child[level][node] = next[level + 1];
      }
      tree.index[last_][next[last_]++] = coordinates_[last_][sorted_[i]];
    }
  }

  std::span<const std::uint32_t> sorted_;
  std::size_t last_;
  bool paired_roots_;
  Executor& executor_;
  std::vector<std::span<const std::uint32_t>> coordinates_;  // per level
  std::vector<std::uint8_t> opens_;                          // per nonzero: the first level on which a node opens
  std::vector<std::size_t> begins_;                          // of the parts, and the end
};

CsfTree build(const CoordinateLists& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
              std::uint32_t fiber_limit, bool paired_roots, Executor& executor) {
  CsfTree tree = TreeBuilder(tensor, modes, sorted, paired_roots, executor).build(fiber_limit);
  tree.modes.assign(modes.begin(), modes.end());
  tree.nonzero.assign(sorted.begin(), sorted.end());
  return tree;
}

}  // namespace

std::vector<int> ascending_modes(std::span<const std::uint64_t> shape) {
  std::vector<int> modes(shape.size());
  std::iota(modes.begin(), modes.end(), 0);
  std::ranges::stable_sort(modes, {}, [&](int mode) { return shape[static_cast<std::size_t>(mode)]; });
  return modes;
}

std::vector<int> modes_under(int root, std::span<const std::uint64_t> shape) {
  std::vector<int> modes = ascending_modes(shape);
  const auto at = std::ranges::find(modes, root);
  std::rotate(modes.begin(), at, at + 1);
  return modes;
}

std::vector<std::uint64_t> count_csf_nodes(const CoordinateLists& tensor, std::span<const int> modes,
                                           std::span<const std::uint32_t> sorted, Executor& executor) {
  return TreeBuilder(tensor, modes, sorted, false, executor).count_nodes();
}

CsfTree build_csf(const CoordinateLists& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
                  std::uint32_t fiber_limit, Executor& executor) {
  return build(tensor, modes, sorted, fiber_limit, false, executor);
}

CsfTree build_mm_csf(const CoordinateLists& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted,
                     std::uint32_t fiber_limit, Executor& executor) {
  return build(tensor, modes, sorted, fiber_limit, true, executor);
}

std::uint64_t count_slices(const CsfTree& tree) {
  const std::vector<std::uint32_t>& roots = tree.index[0];
  std::uint64_t slices = roots.empty() ? 0 : 1;
  for (std::size_t i = 1; i < roots.size(); ++i) slices += roots[i] != roots[i - 1];
  return slices;
}

std::vector<std::uint64_t> count_nodes(const CsfTree& tree) {
  std::vector<std::uint64_t> nodes;
  for (const std::vector<std::uint32_t>& level : tree.index) nodes.push_back(level.size());
  if (tree.has_paired_roots()) nodes[0] = count_slices(tree);
  return nodes;
}

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
