// The row kernels, included once per instruction set by mttkrp_f32.cpp and mttkrp_f64.cpp.
#if defined(BLCO_MTTKRP_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_MTTKRP_ROWS_INL
#undef BLCO_MTTKRP_ROWS_INL
#else
#define BLCO_MTTKRP_ROWS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <utility>

#include "kernels/aligned_buffer.hpp"
#include "kernels/frame_rows.hpp"
#include "kernels/mttkrp_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Nonzeros between a prefetch and its use: some 200 ns of work at rank 16.
constexpr std::size_t prefetch_distance = 32;
// Columns are taken at most 8 cache lines at a time, so that the sums of a run stay in registers.
constexpr std::size_t tile_lines = 8;
// Below this mean length of equal target rows, runs cost more than they save.
constexpr std::size_t least_mean_run = 4;
constexpr int any_count = -1;

template <class T>
constexpr std::size_t line_columns = cache_line_bytes / sizeof(T);

// `Width` columns as whole vectors.
template <class T, std::size_t Width>
struct Tile {
  using Tag = hn::CappedTag<T, (Width < line_columns<T> ? Width : line_columns<T>)>;
  using Vector = hn::Vec<Tag>;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag());
  static constexpr std::size_t vectors = Width / lanes;
  static constexpr std::size_t lines = (Width + line_columns<T> - 1) / line_columns<T>;
};

// A matrix's columns from `column` on. Addresses are numbers, so that `first_row` costs nothing per row, and a prefetch
// may aim anywhere.
template <class T, std::size_t Width>
class ColumnsOf {
 public:
  ColumnsOf() = default;
  ColumnsOf(const T* matrix, const std::uint32_t* rows, std::uint64_t first_row, std::uint64_t stride,
            std::size_t column)
      : rows_(rows), stride_bytes_(stride * sizeof(T)) {
    base_ = reinterpret_cast<std::uintptr_t>(matrix + column) - first_row * stride_bytes_;
  }

  HWY_INLINE std::uint32_t row(std::size_t at) const { return rows_[at]; }
  HWY_INLINE std::uintptr_t address(std::size_t at) const {
    // No tile of a wider row is narrower than half of the most, so less than that is a whole row, of known stride.
    constexpr bool whole = Width < tile_lines / 2 * line_columns<T>;
    return base_ + rows_[at] * (whole ? Width * sizeof(T) : stride_bytes_);
  }
  HWY_INLINE void prefetch(std::size_t at) const {
    const std::uintptr_t from = address(at);
    for (std::size_t line = 0; line < Tile<T, Width>::lines; ++line) {
      hwy::Prefetch(reinterpret_cast<const T*>(from + line * cache_line_bytes));
    }
  }

 private:
  std::uintptr_t base_ = 0;
  const std::uint32_t* rows_ = nullptr;
  std::uint64_t stride_bytes_ = 0;
};

// What a task says of some columns, copied so that the compiler knows that no store changes it. `Count` other modes, or
// as many as the task has.
template <class T, std::size_t Width, int Count>
class Columns {
  static constexpr std::size_t room = Count == any_count ? max_order : Count;

 public:
  using Tag = typename Tile<T, Width>::Tag;
  using Vector = typename Tile<T, Width>::Vector;
  using Operands = std::array<const T*, room>;  // the factor rows of one nonzero

  Columns(const RowsTask<T>& task, std::size_t column)
      : output_(task.output.matrix, task.output.rows, task.output.first_row, task.stride, column),
        values_(task.values),
        count_(Count == any_count ? static_cast<std::size_t>(task.factor_count) : room),
        prefetch_(task.output.prefetch),
        prefetch_output_(task.output.prefetch) {
    for (std::size_t k = 0; k < count_; ++k) {
      factors_[k] = {task.factors[k].matrix, task.factors[k].rows, 0, task.stride, column};
      prefetch_factor_[k] = task.factors[k].prefetch;
      prefetch_ = prefetch_ || prefetch_factor_[k];
    }
  }

  HWY_INLINE std::uint32_t target(std::size_t at) const { return output_.row(at); }
  HWY_INLINE T* output(std::size_t at) const { return reinterpret_cast<T*>(output_.address(at)); }
  HWY_INLINE Vector value(std::size_t at) const { return hn::Set(Tag(), static_cast<T>(values_[at])); }

  // Asks for the rows of a nonzero further on. Past the last one it finds those of an earlier chunk, which does no
  // harm.
  HWY_INLINE void prefetch_after(std::size_t position) const {
    if (!prefetch_) return;
    const std::size_t at = (position + prefetch_distance) % ring_entries;
    if (prefetch_output_) output_.prefetch(at);
    for (std::size_t k = 0; k < count_; ++k) {
      if (prefetch_factor_[k]) factors_[k].prefetch(at);
    }
  }

  HWY_INLINE Operands operands(std::size_t at) const {
    Operands rows;
    for (std::size_t k = 0; k < count_; ++k) rows[k] = reinterpret_cast<const T*>(factors_[k].address(at));
    return rows;
  }

  // sum + value * the product of all rows at `offset`
  HWY_INLINE Vector add_product(const Operands& rows, Vector value, std::size_t offset, Vector sum) const {
    if (count_ == 0) return hn::Add(sum, value);
    for (std::size_t k = 0; k + 1 < count_; ++k) value = hn::Mul(value, hn::Load(Tag(), rows[k] + offset));
    return hn::MulAdd(value, hn::Load(Tag(), rows[count_ - 1] + offset), sum);
  }

 private:
  ColumnsOf<T, Width> output_;
  std::array<ColumnsOf<T, Width>, room> factors_;
  const double* values_;
  std::size_t count_;
  bool prefetch_;  // any of these
  bool prefetch_output_;
  std::array<bool, room> prefetch_factor_{};
};

// Every nonzero loads and stores its output row.
template <class T, std::size_t Width, int Count>
void add_each(const RowsTask<T>& task, std::size_t column, RingRange range) {
  using Shape = Tile<T, Width>;
  const typename Shape::Tag tag;
  const Columns<T, Width, Count> columns(task, column);
  for (std::size_t at = range.begin; at < range.begin + range.count; ++at) {
    columns.prefetch_after(at);
    const auto operands = columns.operands(at);
    const auto value = columns.value(at);
    T* out = columns.output(at);
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      T* lanes = out + v * Shape::lanes;
      hn::Store(columns.add_product(operands, value, v * Shape::lanes, hn::Load(tag, lanes)), tag, lanes);
    }
  }
}

// The sums stay in registers while the output row stays the same.
template <class T, std::size_t Width, int Count>
void add_runs(const RowsTask<T>& task, std::size_t column, RingRange range) {
  using Shape = Tile<T, Width>;
  const typename Shape::Tag tag;
  const Columns<T, Width, Count> columns(task, column);
  const std::size_t end = range.begin + range.count;
  for (std::size_t at = range.begin; at < end;) {
    const std::uint32_t row = columns.target(at);
    T* out = columns.output(at);
    typename Shape::Vector sums[Shape::vectors];
    for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = hn::Zero(tag);
    for (; at < end && columns.target(at) == row; ++at) {
      columns.prefetch_after(at);
      const auto operands = columns.operands(at);
      const auto value = columns.value(at);
      for (std::size_t v = 0; v < Shape::vectors; ++v) {
        sums[v] = columns.add_product(operands, value, v * Shape::lanes, sums[v]);
      }
    }
    if (task.locks != nullptr) task.locks->lock(row);
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      T* lanes = out + v * Shape::lanes;
      hn::Store(hn::Add(hn::Load(tag, lanes), sums[v]), tag, lanes);
    }
    if (task.locks != nullptr) task.locks->unlock(row);
  }
}

template <class T, std::size_t Width>
void add_columns(const RowsTask<T>& task, std::size_t column, RingRange range, bool runs) {
  switch (task.factor_count) {
    case 2:
      return runs ? add_runs<T, Width, 2>(task, column, range) : add_each<T, Width, 2>(task, column, range);
    case 3:
      return runs ? add_runs<T, Width, 3>(task, column, range) : add_each<T, Width, 3>(task, column, range);
    default:
      return runs ? add_runs<T, Width, any_count>(task, column, range)
                  : add_each<T, Width, any_count>(task, column, range);
  }
}

// Whether runs of equal target rows are long enough to be worth the trouble.
inline bool has_runs(const std::uint32_t* rows, std::size_t count) {
  std::size_t changes = 1;
  for (std::size_t i = 1; i < count; ++i) changes += rows[i] != rows[i - 1];
  return changes * least_mean_run <= count;
}

template <class T, std::size_t... Index>
void add_lines(const RowsTask<T>& task, std::size_t column, std::size_t lines, RingRange range, bool runs,
               std::index_sequence<Index...>) {
  static_cast<void>((
      (lines == Index + 1 && (add_columns<T, (Index + 1) * line_columns<T>>(task, column, range, runs), true)) || ...));
}

template <class T>
void add_frame(const RowsTask<T>& task, RingRange range) {
  const bool runs = task.locks != nullptr || has_runs(task.output.rows + range.begin, range.count);
  if (task.stride == 1) return add_columns<T, 1>(task, 0, range, runs);
  if (task.stride == 2) return add_columns<T, 2>(task, 0, range, runs);
  if (task.stride == 4) return add_columns<T, 4>(task, 0, range, runs);
  if constexpr (line_columns < T >> 8) {
    if (task.stride == 8) return add_columns<T, 8>(task, 0, range, runs);
  }
  const std::size_t lines = task.stride / line_columns<T>;
  const std::size_t tiles = (lines + tile_lines - 1) / tile_lines;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t first = lines * tile / tiles;
    add_lines<T>(task, first * line_columns<T>, lines * (tile + 1) / tiles - first, range, runs,
                 std::make_index_sequence<tile_lines>());
  }
}

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
