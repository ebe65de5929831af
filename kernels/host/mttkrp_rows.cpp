// The row kernels, compiled once per precision and instruction set.
#include "kernels/host/mttkrp_rows.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/mttkrp_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <utility>

#include "kernels/host/row_columns-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

// Every nonzero loads and stores its output row.
template <bool Prefetch, class Task, std::size_t Width, int Count, class Rows>
HWY_INLINE void add_some(const Columns<Task, Width, Count, Rows>& columns, std::size_t begin, std::size_t end) {
  using Shape = Tile<Task, Width>;
  const typename Shape::Tag tag;
  typename Columns<Task, Width, Count, Rows>::Operands operands;
  for (std::size_t at = begin; at < end; ++at) {
    if constexpr (Prefetch) {
      columns.prefetch_stream(at);
      columns.prefetch_after(at);
    }
    columns.find_operands(at, operands);
    const auto value = columns.value(at);
    auto* out = columns.output(at);
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      auto* lanes = out + v * Shape::lanes;
      hn::Store(columns.add_product(operands, value, v * Shape::lanes, hn::Load(tag, lanes)), tag, lanes);
    }
  }
}

template <class Task, std::size_t Width, int Count, class Rows>
void add_each(const Task& task, std::size_t column, NonzeroRange range) {
  const Columns<Task, Width, Count, Rows> columns(task, column);
  const std::size_t prefetched =
      columns.prefetches() ? Rows::prefetched(range.count, Tile<Task, Width>::prefetch_distance) : 0;
  add_some<true>(columns, range.begin, range.begin + prefetched);
  add_some<false>(columns, range.begin + prefetched, range.begin + range.count);
}

// Arranged nonzeros, of some targets. The sums start from the output's current values, so that the numbers equal those
// of add_each.
template <class Task, std::size_t Width, int Count>
void add_arranged(const Task& task, std::size_t column, NonzeroRange range) {
  using Shape = Tile<Task, Width>;
  const typename Shape::Tag tag;
  const Columns<Task, Width, Count, ListRows> columns(task, column);
  typename Columns<Task, Width, Count, ListRows>::Operands operands;
  const std::uint32_t* ends = task.target_ends;
  std::size_t at = range.begin == 0 ? 0 : ends[range.begin - 1];
  for (std::size_t row = range.begin; row < range.begin + range.count; ++row) {
    auto* out = columns.output(row);
    typename Shape::Vector sums[Shape::vectors];
    for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = hn::Load(tag, out + v * Shape::lanes);
    for (const std::size_t end = ends[row]; at < end; ++at) {
      if (columns.prefetches()) columns.prefetch_factors(at + Shape::prefetch_distance);
      columns.find_operands(at, operands);
      const auto value = columns.value(at);
      for (std::size_t v = 0; v < Shape::vectors; ++v) {
        sums[v] = columns.add_product(operands, value, v * Shape::lanes, sums[v]);
      }
    }
    for (std::size_t v = 0; v < Shape::vectors; ++v) hn::Store(sums[v], tag, out + v * Shape::lanes);
  }
}

// Where the run of nonzeros with the key of `at` ends; keys rise. The search goes ahead in ever longer steps, then cuts
// the last step in halves.
template <class Key>
HWY_INLINE std::size_t end_of_row(std::size_t at, std::size_t end, const Key& key) {
  const std::uint64_t first = key(at);
  std::size_t ahead = 1;
  while (at + ahead < end && key(at + ahead) == first) {
    at += ahead;
    ahead *= 2;
  }
  std::size_t after = at + ahead < end ? at + ahead : end;
  while (after - at > 1) {
    const std::size_t middle = at + (after - at) / 2;
    (key(middle) == first ? at : after) = middle;
  }
  return after;
}

// The same for short runs, one by one. Nothing has been added yet where a processor mistakes the end, so that it has
// little to undo.
template <class Key>
HWY_INLINE std::size_t end_of_fiber(std::size_t at, std::size_t end, const Key& key) {
  const std::uint64_t first = key(at);
  do {
    ++at;
  } while (at < end && key(at) == first);
  return at;
}

// Nonzeros in the order of the output's mode. The sums start from the output's current values too. Its own loop: one
// for both that asks each nonzero whether to prefetch makes arranged nonzeros 4% slower.
template <class Task, std::size_t Width, int Count>
void add_sorted(const Task& task, std::size_t column, NonzeroRange range) {
  using Shape = Tile<Task, Width>;
  const typename Shape::Tag tag;
  const Columns<Task, Width, Count, LineRows> columns(task, column);
  typename Columns<Task, Width, Count, LineRows>::Operands operands;
  std::size_t at = range.begin;
  const std::size_t end = range.begin + range.count;
  const std::size_t prefetch_end =
      columns.prefetches() ? range.begin + LineRows::prefetched(range.count, Shape::prefetch_distance) : 0;
  while (at < end) {
    auto* out = columns.output(at);
    typename Shape::Vector sums[Shape::vectors];
    for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = hn::Load(tag, out + v * Shape::lanes);
    const std::size_t row_end = end_of_row(at, end, [&columns](std::size_t i) { return columns.target(i); });
    for (; at < row_end; ++at) {
      if (at < prefetch_end) columns.prefetch_factors(at + Shape::prefetch_distance);
      columns.find_operands(at, operands);
      const auto value = columns.value(at);
      for (std::size_t v = 0; v < Shape::vectors; ++v) {
        sums[v] = columns.add_product(operands, value, v * Shape::lanes, sums[v]);
      }
    }
    for (std::size_t v = 0; v < Shape::vectors; ++v) hn::Store(sums[v], tag, out + v * Shape::lanes);
  }
}

// Adds a nonzero to the sum of its fiber.
template <class Task, std::size_t Width, int Count, class Rows>
HWY_INLINE void add_to_fiber(const Columns<Task, Width, Count, Rows>& columns, std::size_t at, bool prefetches,
                             typename Tile<Task, Width>::Vector* of_fiber) {
  using Shape = Tile<Task, Width>;
  if (prefetches) columns.prefetch_last(at + Shape::prefetch_distance);
  const auto* of_last = columns.last_operand(at);
  const auto value = columns.value(at);
  for (std::size_t v = 0; v < Shape::vectors; ++v) {
    of_fiber[v] = columns.add_last(of_last, value, v * Shape::lanes, of_fiber[v]);
  }
}

// Adds the nonzeros of a fiber, from `at` on, to `sums`: their sum times the rows that they share.
template <class Task, std::size_t Width, int Count, class Rows>
HWY_INLINE void add_fiber(const Columns<Task, Width, Count, Rows>& columns, std::size_t at, std::size_t end,
                          std::size_t prefetch_end, const typename Columns<Task, Width, Count, Rows>::Operands& shared,
                          typename Tile<Task, Width>::Vector* sums) {
  using Shape = Tile<Task, Width>;
  const typename Shape::Tag tag;
  typename Shape::Vector of_fiber[Shape::vectors];
  for (std::size_t v = 0; v < Shape::vectors; ++v) of_fiber[v] = hn::Zero(tag);
  if constexpr (Shape::pairs_nonzeros) {
    typename Shape::Vector odd[Shape::vectors];
    for (std::size_t v = 0; v < Shape::vectors; ++v) odd[v] = hn::Zero(tag);
    for (; end - at >= 2; at += 2) {
      add_to_fiber(columns, at, at < prefetch_end, of_fiber);
      add_to_fiber(columns, at + 1, at + 1 < prefetch_end, odd);
    }
    for (std::size_t v = 0; v < Shape::vectors; ++v) of_fiber[v] = hn::Add(of_fiber[v], odd[v]);
  }
  for (; at < end; ++at) add_to_fiber(columns, at, at < prefetch_end, of_fiber);
  for (std::size_t v = 0; v < Shape::vectors; ++v) {
    sums[v] = columns.add_shared(shared, of_fiber[v], v * Shape::lanes, sums[v]);
  }
}

// The same with fibers: sums over a fiber first, and multiplies it once by the rows that its nonzeros share.
template <class Task, std::size_t Width, int Count>
void add_fibers(const Task& task, std::size_t column, NonzeroRange range) {
  using Shape = Tile<Task, Width>;
  const typename Shape::Tag tag;
  const Columns<Task, Width, Count, ListRows> columns(task, column);
  typename Columns<Task, Width, Count, ListRows>::Operands operands;
  const std::uint32_t* ends = task.target_ends;
  const std::uint32_t* fiber_ends = task.fiber_ends;
  std::size_t fiber = range.begin == 0 ? 0 : ends[range.begin - 1];
  std::size_t at = fiber == 0 ? 0 : fiber_ends[fiber - 1];
  for (std::size_t row = range.begin; row < range.begin + range.count; ++row) {
    auto* out = columns.output(row);
    typename Shape::Vector sums[Shape::vectors];
    for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = hn::Load(tag, out + v * Shape::lanes);
    for (const std::size_t end = ends[row]; fiber < end; ++fiber) {
      const std::size_t last = fiber_ends[fiber];
      columns.find_shared(fiber, operands);
      add_fiber(columns, at, last, columns.prefetches() ? last : 0, operands, sums);
      at = last;
    }
    for (std::size_t v = 0; v < Shape::vectors; ++v) hn::Store(sums[v], tag, out + v * Shape::lanes);
  }
}

// Nonzeros in the order of the output's mode, with fibers.
template <class Task, std::size_t Width, int Count>
void add_sorted_fibers(const Task& task, std::size_t column, NonzeroRange range) {
  using Shape = Tile<Task, Width>;
  const typename Shape::Tag tag;
  const Columns<Task, Width, Count, LineRows> columns(task, column);
  typename Columns<Task, Width, Count, LineRows>::Operands operands;
  std::size_t at = range.begin;
  const std::size_t end = range.begin + range.count;
  const std::size_t prefetch_end =
      columns.prefetches() ? range.begin + LineRows::prefetched(range.count, Shape::prefetch_distance) : 0;
  while (at < end) {
    auto* out = columns.output(at);
    typename Shape::Vector sums[Shape::vectors];
    for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = hn::Load(tag, out + v * Shape::lanes);
    const std::uint64_t target = columns.target(at);
    do {
      columns.find_shared(at, operands);
      const std::size_t fiber_end = end_of_fiber(at, end, [&columns](std::size_t i) { return columns.fiber(i); });
      add_fiber(columns, at, fiber_end, prefetch_end, operands, sums);
      at = fiber_end;
    } while (at < end && columns.target(at) == target);
    for (std::size_t v = 0; v < Shape::vectors; ++v) hn::Store(sums[v], tag, out + v * Shape::lanes);
  }
}

enum class Method { each, lines, arranged, fibers, sorted, sorted_fibers };

// Not inlined: one function of all of these takes four times as long to compile, and as much code.
template <class Task, std::size_t Width, int Count>
HWY_NOINLINE void add_modes(const Task& task, std::size_t column, NonzeroRange range, Method method) {
  switch (method) {
    case Method::each:
      return add_each<Task, Width, Count, RingRows>(task, column, range);
    case Method::lines:
      return add_each<Task, Width, Count, LineRows>(task, column, range);
    case Method::arranged:
      return add_arranged<Task, Width, Count>(task, column, range);
    case Method::fibers:
      return add_fibers<Task, Width, Count>(task, column, range);
    case Method::sorted:
      return add_sorted<Task, Width, Count>(task, column, range);
    case Method::sorted_fibers:
      return add_sorted_fibers<Task, Width, Count>(task, column, range);
  }
}

template <class Task, std::size_t Width>
void add_columns(const Task& task, std::size_t column, NonzeroRange range, Method method) {
  if constexpr (has_vectors) {
    if (task.factor_count == 2) return add_modes<Task, Width, 2>(task, column, range, method);
  }
  if constexpr (unrolls_all) {
    if (task.factor_count == 3) return add_modes<Task, Width, 3>(task, column, range, method);
    if (task.factor_count == 4) return add_modes<Task, Width, 4>(task, column, range, method);
  }
  add_modes<Task, Width, any_count>(task, column, range, method);
}

template <class Task>
Method choose_method(const Task& task) {
  if (task.sorted) return task.fiber_mask != 0 ? Method::sorted_fibers : Method::sorted;
  if (task.target_ends != nullptr) return task.fiber_ends != nullptr ? Method::fibers : Method::arranged;
  return task.lines != nullptr ? Method::lines : Method::each;
}

template <class Task, std::size_t... Index>
void add_lines(const Task& task, std::size_t column, std::size_t lines, NonzeroRange range, Method method,
               std::index_sequence<Index...>) {
  constexpr std::size_t line = line_columns<typename Task::SumType>;
  static_cast<void>(
      ((lines == Index + 1 && (add_columns<Task, (Index + 1) * line>(task, column, range, method), true)) || ...));
}

template <class Task>
void add_range(const Task& task, NonzeroRange range) {
  constexpr std::size_t line = line_columns<typename Task::SumType>;
  if (range.count == 0) return;
  const Method method = choose_method(task);
  if (task.stride == 1) return add_columns<Task, 1>(task, 0, range, method);
  if (task.stride == 2) return add_columns<Task, 2>(task, 0, range, method);
  if (task.stride == 4) return add_columns<Task, 4>(task, 0, range, method);
  if constexpr (line > 8) {
    if (task.stride == 8) return add_columns<Task, 8>(task, 0, range, method);
  }
  const std::size_t lines = task.stride / line;
  const std::size_t tiles = lines == max_lines ? 1 : (lines + tile_lines - 1) / tile_lines;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t first = lines * tile / tiles;
    add_lines<Task>(task, first * line, lines * (tile + 1) / tiles - first, range, method,
                    std::make_index_sequence<max_lines>());
  }
}

}  // namespace

void add_nonzeros(const RowsTask<BLCO_SUM, BLCO_FACTOR>& task, NonzeroRange range) { add_range(task, range); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(add_nonzeros);

template <class Sum, class Factor>
void mttkrp_rows(const RowsTask<Sum, Factor>& task, NonzeroRange range) {
  HWY_DYNAMIC_DISPATCH(add_nonzeros)(task, range);
}

template void mttkrp_rows(const RowsTask<BLCO_SUM, BLCO_FACTOR>&, NonzeroRange);

}  // namespace blco
#endif  // HWY_ONCE
