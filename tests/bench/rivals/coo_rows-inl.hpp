// The loops over coordinates, included once per instruction set by coo_rows_f64.cpp and coo_rows_f32.cpp.
#if defined(BLCO_COO_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_COO_ROWS_INL
#undef BLCO_COO_ROWS_INL
#else
#define BLCO_COO_ROWS_INL
#endif

#include <algorithm>
#include <atomic>

#include "tests/bench/rivals/coo_list.hpp"
#include "tests/bench/rivals/coo_rows.hpp"
#include "tests/bench/rivals/coordinate_columns-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

template <class Shape>
struct TileSums {
  using T = typename Shape::Number;
  static_assert(std::atomic_ref<T>::is_always_lock_free);

  // Adds to `count` columns, one by one: the padding stays zero without.
  HWY_INLINE void add_atomically(T* out, std::size_t count) const {
    const typename Shape::Tag tag;
    alignas(cache_line_bytes) T numbers[Shape::width];
    for (std::size_t v = 0; v < Shape::vectors; ++v) hn::Store(sums[v], tag, numbers + v * Shape::lanes);
    for (std::size_t c = 0; c < count; ++c) {
      std::atomic_ref<T>(out[c]).fetch_add(numbers[c], std::memory_order_relaxed);
    }
  }
  HWY_INLINE void add(T* out) const {
    const typename Shape::Tag tag;
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      T* lanes = out + v * Shape::lanes;
      hn::Store(hn::Add(sums[v], hn::Load(tag, lanes)), tag, lanes);
    }
  }

  typename Shape::Vector sums[Shape::vectors];
};

// Every nonzero adds to its output row. Atomic: by atomic additions.
template <class T, bool Atomic>
struct EachNonzero {
  template <class Shape, std::size_t Factors>
  void run(const CoordinateTask<T>& task, std::size_t column) const {
    const typename Shape::Tag tag;
    Operands<Shape, Factors, true> operands(task, column);
    const std::size_t columns = std::min(Shape::width, task.rank - column);
    // Copied, so that the compiler knows that no store changes them.
    const std::uint32_t* rows = targets;
    const std::size_t last = end;
    for (std::size_t at = begin; at < last; ++at) {
      operands.prefetch_rows(at + Shape::distance);
      operands.prefetch_output(rows[operands.place(at + Shape::distance)]);
      operands.find(at);
      const auto value = operands.value(at);
      T* out = operands.output(rows[operands.place(at)]);
      if constexpr (Atomic) {
        TileSums<Shape> products;
        for (std::size_t v = 0; v < Shape::vectors; ++v) {
          products.sums[v] = operands.add_product(value, v, hn::Zero(tag));
        }
        products.add_atomically(out, columns);
      } else {
        for (std::size_t v = 0; v < Shape::vectors; ++v) {
          T* lanes = out + v * Shape::lanes;
          hn::Store(operands.add_product(value, v, hn::Load(tag, lanes)), tag, lanes);
        }
      }
    }
  }

  const std::uint32_t* targets;
  std::size_t begin;
  std::size_t end;
};

// Sums neighbours of one row in registers. Only the first and the last row of the range may have other writers.
template <class T>
struct PermutedNonzeros {
  template <class Shape, std::size_t Factors>
  void run(const CoordinateTask<T>& task, std::size_t column) const {
    const typename Shape::Tag tag;
    Operands<Shape, Factors, true> operands(task, column);
    const std::size_t columns = std::min(Shape::width, task.rank - column);
    const std::uint32_t* rows = targets;
    const std::uint32_t* order = permutation;
    const std::size_t last = end;
    const auto target = [&](std::size_t at) { return rows[operands.place(order[at])]; };
    for (std::size_t at = begin; at < last;) {
      const bool is_first = at == begin;
      const std::uint32_t row = target(at);
      TileSums<Shape> run;
      for (std::size_t v = 0; v < Shape::vectors; ++v) run.sums[v] = hn::Zero(tag);
      for (; at < last && target(at) == row; ++at) {
        // The permutation scatters even what lies in order, so a nonzero is looked for before its rows are.
        operands.prefetch_coordinates(order[at + 2 * Shape::distance]);
        operands.prefetch_rows(order[at + Shape::distance]);
        const std::uint32_t nonzero = order[at];
        operands.find(nonzero);
        const auto value = operands.value(nonzero);
        for (std::size_t v = 0; v < Shape::vectors; ++v) {
          run.sums[v] = operands.add_product(value, v, run.sums[v]);
        }
      }
      if (shares_edges && (is_first || at == last)) {
        run.add_atomically(operands.output(row), columns);
      } else {
        run.add(operands.output(row));
      }
    }
  }

  const std::uint32_t* targets;
  const std::uint32_t* permutation;
  bool shares_edges;
  std::size_t begin;
  std::size_t end;
};

template <class T>
void add_blocks(const CooTask<T>& task, std::uint64_t nnz, std::uint64_t begin, std::uint64_t end) {
  // One block after another, but where a row is one tile and nothing happens at a block's end, all at once.
  const bool in_blocks = task.permutation != nullptr || !is_one_tile<T>(task.nonzeros.stride);
  const std::uint64_t step = in_blocks ? 1 : std::max<std::uint64_t>(end - begin, 1);
  for (std::uint64_t block = begin; block < end; block += step) {
    const std::uint64_t first = block * coo_block_nonzeros;
    const std::uint64_t last = std::min(nnz, (block + step) * coo_block_nonzeros);
    const bool atomic = task.adds == RowAdds::atomic;
    if (task.permutation != nullptr) {
      run_tiles(task.nonzeros, PermutedNonzeros<T>{task.targets, task.permutation, atomic, first, last});
    } else if (atomic) {
      run_tiles(task.nonzeros, EachNonzero<T, true>{task.targets, first, last});
    } else {
      run_tiles(task.nonzeros, EachNonzero<T, false>{task.targets, first, last});
    }
  }
}

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
