// The loops of the CSF family, included once per instruction set.
#if defined(BLCO_CSF_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_CSF_KERNEL_INL
#undef BLCO_CSF_KERNEL_INL
#else
#define BLCO_CSF_KERNEL_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/csf/csf_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr std::size_t csf_line = cache_line_bytes / sizeof(T);
// Nodes between a prefetch and its use. Fibers are longer than nonzeros.
constexpr std::uint32_t leaves_ahead = 16;
constexpr std::uint32_t nodes_ahead = 4;

struct NodeRange {
  std::uint32_t begin;
  std::uint32_t end;
};

// `Width` columns of a task, whose parameters are copied so that the compiler knows that no store changes them.
template <class T, std::size_t Width>
class CsfColumns {
 public:
  using Tag = hn::CappedTag<T, (Width < csf_line<T> ? Width : csf_line<T>)>;
  using Vector = hn::Vec<Tag>;
  using Number = T;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag());
  static constexpr std::size_t vectors = Width / lanes;
  static constexpr std::size_t lines = (Width + csf_line<T> - 1) / csf_line<T>;
  struct Row {
    Vector at[vectors];
  };

  CsfColumns(const CsfTask<T>& task, const CsfPart& part, std::size_t column)
      : levels_(task.levels),
        part_(part),
        last_(task.order - 1),
        values_(task.values),
        output_(task.output + column),
        stride_(task.stride),
        locks_(task.locks) {
    for (std::size_t level = 0; level <= last_; ++level) levels_[level].matrix += column;
  }

  HWY_INLINE std::size_t last() const { return last_; }
  HWY_INLINE NodeRange nodes(std::size_t level) const { return {part_.begin[level], part_.end[level]}; }
  HWY_INLINE NodeRange children(std::size_t level, std::uint32_t node) const {
    const std::uint32_t* child = levels_[level].child;
    if (child == nullptr) return {node, node + 1};
    return {std::max(child[node], part_.begin[level + 1]), std::min(child[node + 1], part_.end[level + 1])};
  }
  HWY_INLINE std::uint32_t index(std::size_t level, std::uint32_t node) const { return levels_[level].index[node]; }
  HWY_INLINE T value(std::uint32_t leaf) const { return values_[leaf]; }

  template <std::uint32_t Ahead>
  HWY_INLINE void prefetch_after(std::size_t level, std::uint32_t node) const {
    if (!levels_[level].prefetch) return;
    const T* row = row_of(level, std::min(node + Ahead, part_.end[level] - 1));
    for (std::size_t line = 0; line < lines; ++line) hwy::Prefetch(row + line * csf_line<T>);
  }

  HWY_INLINE static Row zero() {
    Row row;
    for (std::size_t v = 0; v < vectors; ++v) row.at[v] = hn::Zero(Tag());
    return row;
  }
  HWY_INLINE static Row set(T value) {
    Row row;
    for (std::size_t v = 0; v < vectors; ++v) row.at[v] = hn::Set(Tag(), value);
    return row;
  }
  HWY_INLINE Row load(std::size_t level, std::uint32_t node) const {
    const T* from = row_of(level, node);
    Row row;
    for (std::size_t v = 0; v < vectors; ++v) row.at[v] = hn::Load(Tag(), from + v * lanes);
    return row;
  }
  HWY_INLINE static Row multiply(const Row& a, const Row& b) {
    Row row;
    for (std::size_t v = 0; v < vectors; ++v) row.at[v] = hn::Mul(a.at[v], b.at[v]);
    return row;
  }
  HWY_INLINE static void add_product(const Row& a, const Row& b, Row& sum) {
    for (std::size_t v = 0; v < vectors; ++v) sum.at[v] = hn::MulAdd(a.at[v], b.at[v], sum.at[v]);
  }

  // sum += value * row, over the leaves
  HWY_INLINE void add_leaves(NodeRange leaves, Row& sum) const {
    for (std::uint32_t leaf = leaves.begin; leaf < leaves.end; ++leaf) {
      prefetch_after<leaves_ahead>(last_, leaf);
      add_product(set(values_[leaf]), load(last_, leaf), sum);
    }
  }

  // out[i] += a * b
  HWY_INLINE void add_output(std::uint32_t i, const Row& a, const Row& b, bool shared) const {
    T* out = output_ + i * stride_;
    shared = shared && locks_ != nullptr;
    if (shared) locks_->lock(i);
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::Store(hn::MulAdd(a.at[v], b.at[v], hn::Load(Tag(), out + v * lanes)), Tag(), out + v * lanes);
    }
    if (shared) locks_->unlock(i);
  }
  // `down`: the product of the rows above the leaves
  HWY_INLINE void scatter_leaves(NodeRange leaves, const Row& down) const {
    for (std::uint32_t leaf = leaves.begin; leaf < leaves.end; ++leaf) {
      prefetch_after<leaves_ahead>(last_, leaf);
      add_output(index(last_, leaf), set(values_[leaf]), down, true);
    }
  }

  // Adds `sum_of(node, sum)` of every node of level 0 to the row of its index; equal neighbours meet in registers.
  template <class SumOf>
  HWY_INLINE void add_to_roots(const SumOf& sum_of) const {
    const NodeRange roots = nodes(0);
    bool first = true;
    Row sum = zero();
    for (std::uint32_t root = roots.begin; root < roots.end; ++root) {
      sum_of(root, sum);
      const bool ends = root + 1 == roots.end;
      if (!ends && index(0, root) == index(0, root + 1)) continue;
      add_output(index(0, root), sum, set(T{1}), first || ends);
      sum = zero();
      first = false;
    }
  }

 private:
  HWY_INLINE const T* row_of(std::size_t level, std::uint32_t node) const {
    return levels_[level].matrix + levels_[level].index[node] * stride_;
  }

  std::array<CsfLevel<T>, max_csf_levels> levels_;
  CsfPart part_;
  std::size_t last_;
  const T* values_;
  T* output_;
  std::uint64_t stride_;
  RowLocks* locks_;
};

// The walk with order and target compiled in.
template <class Columns, std::size_t Order, std::size_t Target>
struct CsfWalk {
  using Row = typename Columns::Row;
  static constexpr std::size_t last = Order - 1;

  // sum += sum over the children of a node
  template <std::size_t Level>
  HWY_INLINE static void add_below(const Columns& columns, std::uint32_t node, Row& sum) {
    const NodeRange children = columns.children(Level, node);
    if constexpr (Level + 1 == last) {
      columns.add_leaves(children, sum);
    } else {
      for (std::uint32_t child = children.begin; child < children.end; ++child) {
        if constexpr (Level + 2 == last) columns.template prefetch_after<nodes_ahead>(Level + 1, child);
        Row inner = Columns::zero();
        add_below<Level + 1>(columns, child, inner);
        Columns::add_product(inner, columns.load(Level + 1, child), sum);
      }
    }
  }

  // `down`: the product of the rows on levels 0 to Level
  template <std::size_t Level>
  HWY_INLINE static void visit(const Columns& columns, std::uint32_t node, const Row& down) {
    const NodeRange children = columns.children(Level, node);
    if constexpr (Level + 1 == Target && Target == last) {
      columns.scatter_leaves(children, down);
    } else {
      for (std::uint32_t child = children.begin; child < children.end; ++child) {
        if constexpr (Level + 2 >= last) columns.template prefetch_after<nodes_ahead>(Level + 1, child);
        if constexpr (Level + 1 == Target) {
          Row sum = Columns::zero();
          add_below<Target>(columns, child, sum);
          columns.add_output(columns.index(Target, child), down, sum, true);
        } else {
          visit<Level + 1>(columns, child, Columns::multiply(down, columns.load(Level + 1, child)));
        }
      }
    }
  }

  static void run(const CsfTask<typename Columns::Number>& task, const CsfPart& part, std::size_t column) {
    const Columns columns(task, part, column);
    if constexpr (Target == 0) {
      columns.add_to_roots([&](std::uint32_t root, Row& sum) { add_below<0>(columns, root, sum); });
    } else {
      const NodeRange roots = columns.nodes(0);
      for (std::uint32_t root = roots.begin; root < roots.end; ++root) {
        visit<0>(columns, root, columns.load(0, root));
      }
    }
  }
};

// The same walk for any order and target.
template <class Columns>
struct AnyCsfWalk {
  using Row = typename Columns::Row;

  static void add_below(const Columns& columns, std::size_t level, std::uint32_t node, Row& sum) {
    const NodeRange children = columns.children(level, node);
    if (level + 1 == columns.last()) return columns.add_leaves(children, sum);
    for (std::uint32_t child = children.begin; child < children.end; ++child) {
      columns.template prefetch_after<nodes_ahead>(level + 1, child);
      Row inner = Columns::zero();
      add_below(columns, level + 1, child, inner);
      Columns::add_product(inner, columns.load(level + 1, child), sum);
    }
  }

  static void visit(const Columns& columns, std::size_t target, std::size_t level, std::uint32_t node,
                    const Row& down) {
    const NodeRange children = columns.children(level, node);
    if (level + 1 == columns.last()) return columns.scatter_leaves(children, down);
    for (std::uint32_t child = children.begin; child < children.end; ++child) {
      columns.template prefetch_after<nodes_ahead>(level + 1, child);
      if (level + 1 == target) {
        Row sum = Columns::zero();
        add_below(columns, target, child, sum);
        columns.add_output(columns.index(target, child), down, sum, true);
      } else {
        visit(columns, target, level + 1, child, Columns::multiply(down, columns.load(level + 1, child)));
      }
    }
  }

  static void run(const CsfTask<typename Columns::Number>& task, const CsfPart& part, std::size_t column) {
    const Columns columns(task, part, column);
    if (task.target == 0) {
      return columns.add_to_roots([&](std::uint32_t root, Row& sum) { add_below(columns, 0, root, sum); });
    }
    const NodeRange roots = columns.nodes(0);
    for (std::uint32_t root = roots.begin; root < roots.end; ++root) {
      visit(columns, task.target, 0, root, columns.load(0, root));
    }
  }
};

template <class Columns, std::size_t Order>
struct CsfOfOrder {
  template <std::size_t Target = Order - 1>
  static void run(const CsfTask<typename Columns::Number>& task, const CsfPart& part, std::size_t column) {
    if (task.target == Target) return CsfWalk<Columns, Order, Target>::run(task, part, column);
    if constexpr (Target > 0) run<Target - 1>(task, part, column);
  }
};

// `Compiled`: the common orders have loops of their own.
template <bool Compiled, class Columns>
struct TreeWalk {
  static void run(const CsfTask<typename Columns::Number>& task, const CsfPart& part, std::size_t column) {
    if constexpr (Compiled) {
      if (task.order == 3) return CsfOfOrder<Columns, 3>::run(task, part, column);
      if (task.order == 4) return CsfOfOrder<Columns, 4>::run(task, part, column);
      if (task.order == 5) return CsfOfOrder<Columns, 5>::run(task, part, column);
    }
    AnyCsfWalk<Columns>::run(task, part, column);
  }
};

// Wide rows are cut into tiles of 8, 4, 3, 2 and 1 cache lines, or of 1, and each is a walk of its own.
template <template <bool, class> class Walk, class T>
void walk(const CsfTask<T>& task, const CsfPart& part) {
  constexpr std::size_t line = csf_line<T>;
  if (task.stride == 1) return Walk<false, CsfColumns<T, 1>>::run(task, part, 0);
  if (task.stride == 2) return Walk<false, CsfColumns<T, 2>>::run(task, part, 0);
  if (task.stride == 4) return Walk<false, CsfColumns<T, 4>>::run(task, part, 0);
  if constexpr (line > 8) {
    if (task.stride == 8) return Walk<true, CsfColumns<T, 8>>::run(task, part, 0);
  }
  for (std::size_t column = 0; column < task.stride;) {
    const std::size_t lines = (task.stride - column) / line;
    const std::size_t tile = !BLCO_UNROLLS_ALL ? 1 : lines >= 8 ? 8 : std::min<std::size_t>(lines, 4);
    if constexpr (BLCO_UNROLLS_ALL) {
      if (tile == 8) Walk<true, CsfColumns<T, 8 * line>>::run(task, part, column);
      if (tile == 4) Walk<true, CsfColumns<T, 4 * line>>::run(task, part, column);
      if (tile == 3) Walk<false, CsfColumns<T, 3 * line>>::run(task, part, column);
      if (tile == 2) Walk<true, CsfColumns<T, 2 * line>>::run(task, part, column);
    }
    if (tile == 1) Walk<true, CsfColumns<T, line>>::run(task, part, column);
    column += tile * line;
  }
}

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
