// Estimates for each mode how long its fibers are, and builds a tree over those of the best.
#include "kernels/host/fiber_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/csf/csf_kernel.hpp"
#include "kernels/csf/natural_sort.hpp"
#include "kernels/host/sorted_tiles.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

// Of the fibers one in 16 is looked at.
constexpr int sample_bits = 4;

// Odd and unrelated: powers of a multiplier for linear congruential generators (Steele and Vigna, 2022).
constexpr std::array<std::uint64_t, max_csf_levels> multipliers = [] {
  std::array<std::uint64_t, max_csf_levels> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& of_mode : powers) of_mode = power *= 0xd1342543de82ef95;
  return powers;
}();

std::uint64_t mixed(std::uint64_t hash) {
  hash ^= hash >> 32;
  hash *= multipliers[0];
  return hash ^ hash >> 29;
}

std::uint64_t bitmap_words(std::uint64_t nnz) { return std::bit_ceil((nnz >> sample_bits) / 64 + 1); }

// The coordinates of a decoded chunk, from its lower bounds on.
class ChunkCoordinates {
 public:
  ChunkCoordinates(const FrameDecoder& decoder, const FrameSource& source, int order, std::span<FrameRing> rings,
                   Executor& executor)
      : nnz_(source.nnz), numbers_(static_cast<std::uint64_t>(order) * source.nnz) {
    for (int mode = 0; mode < order; ++mode) {
      const RowRange range = source.range[static_cast<std::size_t>(mode)];
      lists_.shape.push_back(std::uint64_t{range.upper} - range.lower + 1);
      lists_.coordinates.emplace_back(column(mode), nnz_);
    }
    run_parts(executor, rings.size(), source.frames(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t f = begin; f < end; ++f) write_frame(decoder, source, f, rings[part]);
    });
  }

  const CoordinateLists& lists() const { return lists_; }

 private:
  std::uint32_t* column(int mode) { return numbers_.data() + static_cast<std::uint64_t>(mode) * nnz_; }

  void write_frame(const FrameDecoder& decoder, const FrameSource& source, std::uint64_t frame, FrameRing& ring) {
    const std::uint64_t first = frame * frame_entries;
    const DecodedChunk& chunk = *source.decoded;
    const auto count = static_cast<std::size_t>(source.entries_of(frame));
    decoder.expand({chunk.indices.data() + first, chunk.keys.size() > 0 ? chunk.keys.data() + first : nullptr,
                    chunk.values.size() > 0 ? chunk.values.data() + first : nullptr, count},
                   ring);
    for (int mode = 0; mode < lists_.order(); ++mode) {
      const std::uint32_t lower = source.range[static_cast<std::size_t>(mode)].lower;
      const std::uint32_t* rows = ring.rows(mode);
      std::uint32_t* to = column(mode) + first;
      for (std::size_t i = 0; i < count; ++i) to[i] = rows[i] - lower;
    }
  }

  std::uint64_t nnz_;
  AlignedBuffer<std::uint32_t> numbers_;
  CoordinateLists lists_;
};

// Per mode an estimate of how many fibers along it have nonzeros, by linear counting (Whang, Vander-Zanden and Taylor,
// 1990): hashes set bits, and the share of bits that stay clear tells how many different ones there were.
std::vector<double> estimate_fibers(const CoordinateLists& lists, Executor& executor) {
  const auto order = static_cast<std::size_t>(lists.order());
  const auto parts = static_cast<std::size_t>(executor.width());
  const std::uint64_t words = bitmap_words(lists.nnz());
  AlignedBuffer<std::uint64_t> bits(parts * order * words);
  run_parts(executor, parts, lists.nnz(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t* own = bits.data() + part * order * words;
    for (std::uint64_t i = begin; i < end; ++i) {
      std::uint64_t all = 0;
      for (std::size_t mode = 0; mode < order; ++mode) all += lists.coordinates[mode][i] * multipliers[mode];
      for (std::size_t mode = 0; mode < order; ++mode) {
        const std::uint64_t hash = mixed(all - lists.coordinates[mode][i] * multipliers[mode]);
        if (hash >> (64 - sample_bits) != 0) continue;
        own[mode * words + (hash >> 6 & (words - 1))] |= std::uint64_t{1} << (hash & 63);
      }
    }
  });
  std::vector<double> fibers;
  for (std::size_t mode = 0; mode < order; ++mode) {
    std::uint64_t clear = 0;
    for (std::uint64_t word = 0; word < words; ++word) {
      std::uint64_t set = 0;
      for (std::size_t part = 0; part < parts; ++part) set |= bits.data()[(part * order + mode) * words + word];
      clear += static_cast<std::uint64_t>(std::popcount(~set));
    }
    const auto places = static_cast<double>(words * 64);
    const double different = places * std::log(places / std::max(static_cast<double>(clear), 1.0));
    fibers.push_back(different * (1 << sample_bits));
  }
  return fibers;
}

// Modes by ascending length, that of the leaves last; empty if there are none.
std::vector<int> choose_levels(const CoordinateLists& lists, std::uint64_t row_bytes, Executor& executor) {
  const std::vector<double> fibers = estimate_fibers(lists, executor);
  std::vector<int> modes = ascending_modes(lists.shape);
  auto leaf = modes.end();
  for (auto mode = modes.begin(); mode != modes.end(); ++mode) {
    const auto n = static_cast<std::size_t>(*mode);
    if (lists.shape[n] * row_bytes > max_leaf_bytes) continue;
    if (leaf == modes.end() || fibers[n] <= fibers[static_cast<std::size_t>(*leaf)]) leaf = mode;
  }
  if (leaf == modes.end()) return {};
  // The exact count decides; this one may be off by some percent.
  const double nonzeros = fibers[static_cast<std::size_t>(*leaf)] * static_cast<double>(min_fiber_nnz);
  if (nonzeros > 1.25 * static_cast<double>(lists.nnz())) return {};
  std::rotate(leaf, leaf + 1, modes.end());
  return modes;
}

}  // namespace

template <class T>
std::size_t FiberTree<T>::level_of(int mode) const {
  return static_cast<std::size_t>(std::ranges::find(tree.modes, mode) - tree.modes.begin());
}

template <class T>
std::uint64_t fiber_tree_bytes(std::span<const std::uint64_t> nodes) {
  const std::uint64_t nnz = nodes.back();
  std::uint64_t bytes = mapped_bytes(nnz * sizeof(T)) + mapped_bytes(nnz * sizeof(std::uint32_t)) + page_bytes;
  for (const std::uint64_t of_level : nodes.first(nodes.size() - 1)) {
    bytes += 2 * (mapped_bytes((of_level + 1) * sizeof(std::uint32_t)) + page_bytes);
  }
  return bytes;
}

std::uint64_t most_fiber_tree_bytes(const BackendConfig& config, std::uint64_t nnz) {
  std::vector<std::uint64_t> nodes(static_cast<std::size_t>(config.layout.order()), nnz / min_fiber_nnz);
  nodes.back() = nnz;
  return config.precision == Precision::f32 ? fiber_tree_bytes<float>(nodes) : fiber_tree_bytes<double>(nodes);
}

std::uint64_t fiber_scratch_bytes(int order, std::uint64_t nnz, int threads) {
  // Coordinates; two lists of numbers, of which the tree holds one for a while; where nodes open.
  const std::uint64_t of_nonzero = (static_cast<std::uint64_t>(order) + 2) * sizeof(std::uint32_t) + 1;
  const std::uint64_t counts = std::uint64_t{64} << 10;  // of a thread that sorts, and its places in the tree
  const std::uint64_t bitmaps = static_cast<std::uint64_t>(order) * bitmap_words(nnz) * sizeof(std::uint64_t);
  return of_nonzero * nnz + static_cast<std::uint64_t>(threads) * (counts + bitmaps) + 8 * page_bytes;
}

template <class T>
std::optional<FiberTree<T>> build_fiber_tree(const FrameDecoder& decoder, const FrameSource& source, int order,
                                             std::span<FrameRing> rings, const TreeLimits& limits, Executor& executor) {
  const std::uint64_t scratch = fiber_scratch_bytes(order, source.nnz, executor.width());
  if (source.nnz == 0 || scratch > limits.room) return std::nullopt;
  const ChunkCoordinates coordinates(decoder, source, order, rings, executor);
  const CoordinateLists& lists = coordinates.lists();
  const std::vector<int> modes = choose_levels(lists, limits.row_bytes, executor);
  if (modes.empty()) return std::nullopt;
  const std::vector<std::uint32_t> sorted = sorted_by(lists, modes, executor);
  const std::vector<std::uint64_t> nodes = count_csf_nodes(lists, modes, sorted, executor);
  const bool is_short = nodes[nodes.size() - 2] * min_fiber_nnz > source.nnz;
  if (is_short || scratch + fiber_tree_bytes<T>(nodes) > limits.room) return std::nullopt;

  FiberTree<T> made{build_csf(lists, modes, sorted, 0, executor), AlignedBuffer<T>(source.nnz), {}};
  std::vector<std::uint32_t>().swap(made.tree.nonzero);
  made.parts = cut_tree(made.tree, static_cast<std::uint64_t>(executor.width()));
  const AlignedBuffer<double>& values = source.decoded->values;
  run_shares(executor, source.nnz, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      made.values.data()[i] = values.size() > 0 ? static_cast<T>(values.data()[sorted[i]]) : T{1};
    }
  });
  return made;
}

template <class T>
void mttkrp_fibers(const FiberTree<T>& tree, const FrameSource& source, const FiberPass<T>& pass, std::size_t part) {
  if (part >= tree.parts.size()) return;
  CsfTask<T> task;
  task.order = tree.tree.order();
  task.target = tree.level_of(pass.mode);
  task.values = tree.values.data();
  task.stride = pass.stride;
  const auto lower = [&](int mode) { return source.range[static_cast<std::size_t>(mode)].lower; };
  task.output = pass.target.matrix + (lower(pass.mode) - pass.target.first_row) * pass.stride;
  for (std::size_t level = 0; level < task.order; ++level) {
    const int mode = tree.tree.modes[level];
    const RowRange range = source.range[static_cast<std::size_t>(mode)];
    CsfLevel<T>& of = task.levels[level];
    of.index = tree.tree.index[level].data();
    of.child = level + 1 < task.order ? tree.tree.child[level].data() : nullptr;
    of.matrix =
        mode == pass.mode ? task.output : pass.factors[static_cast<std::size_t>(mode)] + range.lower * pass.stride;
    of.prefetch = (std::uint64_t{range.upper} - range.lower + 1) * pass.stride * sizeof(T) > cached_bytes;
  }
  mttkrp_csf(task, tree.parts[part]);
}

bool can_keep_trees(const BackendConfig& config, int threads) {
  const int order = config.layout.order();
  return config.fiber_trees && config.columns.empty() && threads > 1 && config.precision != Precision::mixed &&
         order >= min_tree_order && order <= static_cast<int>(max_csf_levels) && has_small_matrices(config);
}

template struct FiberTree<double>;
template struct FiberTree<float>;
template std::uint64_t fiber_tree_bytes<double>(std::span<const std::uint64_t>);
template std::uint64_t fiber_tree_bytes<float>(std::span<const std::uint64_t>);
template std::optional<FiberTree<double>> build_fiber_tree(const FrameDecoder&, const FrameSource&, int,
                                                           std::span<FrameRing>, const TreeLimits&, Executor&);
template std::optional<FiberTree<float>> build_fiber_tree(const FrameDecoder&, const FrameSource&, int,
                                                          std::span<FrameRing>, const TreeLimits&, Executor&);
template void mttkrp_fibers(const FiberTree<double>&, const FrameSource&, const FiberPass<double>&, std::size_t);
template void mttkrp_fibers(const FiberTree<float>&, const FrameSource&, const FiberPass<float>&, std::size_t);

}  // namespace blco
