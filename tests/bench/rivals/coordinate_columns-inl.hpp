// Columns of factor and output rows as vectors, for lists of coordinates. Included once per instruction set.
#if defined(BLCO_COORDINATE_COLUMNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_COORDINATE_COLUMNS_INL
#undef BLCO_COORDINATE_COLUMNS_INL
#else
#define BLCO_COORDINATE_COLUMNS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/coordinate_task.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t any_factors = 0;

template <class T>
constexpr std::size_t line_numbers = cache_line_bytes / sizeof(T);

// Lines of a tile, so that the sums of its columns fit in the registers.
template <class T>
constexpr std::size_t most_tile_lines = hn::MaxLanes(hn::CappedTag<T, line_numbers<T>>()) == line_numbers<T> ? 8 : 4;

// `Width` columns; `Whole`: they are all columns of a row.
template <class T, std::size_t Width, bool Whole>
struct Columns {
  using Number = T;
  using Tag = hn::CappedTag<T, (Width < line_numbers<T> ? Width : line_numbers<T>)>;
  using Vector = hn::Vec<Tag>;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag());
  static constexpr std::size_t vectors = Width / lanes;
  static constexpr std::size_t width = Width;
  static constexpr std::size_t lines = (Width + line_numbers<T> - 1) / line_numbers<T>;
  static constexpr bool is_whole_row = Whole;
  // Nonzeros between a prefetch and its use: further ahead, wide rows would evict each other from the L1 cache.
  static constexpr std::size_t distance = lines <= 2 ? 16 : 8;
};

// What a kernel reads of its nonzeros in some columns, copied so that the compiler knows that no store changes it.
// `Factors` is the number of other modes, or any_factors. RowMajor: the coordinates of a nonzero are neighbours.
template <class Shape, std::size_t Factors, bool RowMajor>
class Operands {
  static constexpr std::size_t room = Factors == any_factors ? most_rival_modes - 1 : Factors;

 public:
  using T = typename Shape::Number;
  using Tag = typename Shape::Tag;
  using Vector = typename Shape::Vector;

  Operands(const CoordinateTask<T>& task, std::size_t column)
      : values_(task.values),
        output_(task.output + column),
        stride_(task.stride),
        count_(task.factor_count),
        prefetch_(task.prefetch_rows) {
    for (std::size_t k = 0; k < count(); ++k) {
      factors_[k] = task.factors[k] + column;
      rows_[k] = task.rows[k];
    }
  }

  // Where the coordinates of a nonzero begin in each array.
  HWY_INLINE std::size_t place(std::size_t nonzero) const { return RowMajor ? nonzero * (count() + 1) : nonzero; }
  HWY_INLINE T* output(std::uint32_t row) const { return output_ + row * stride(); }
  HWY_INLINE Vector value(std::size_t nonzero) const { return hn::Set(Tag(), values_[nonzero]); }

  HWY_INLINE void prefetch_coordinates(std::size_t nonzero) const {
    hwy::Prefetch(rows_[0] + place(nonzero));
    hwy::Prefetch(values_ + nonzero);
  }
  HWY_INLINE void prefetch_rows(std::size_t nonzero) const {
    if (!prefetch_) return;
    for (std::size_t k = 0; k < count(); ++k) prefetch(factors_[k] + rows_[k][place(nonzero)] * stride());
  }
  HWY_INLINE void prefetch_output(std::uint32_t row) const {
    if (prefetch_) prefetch(output(row));
  }

  HWY_INLINE void find(std::size_t nonzero) {
    for (std::size_t k = 0; k < count(); ++k) found_[k] = factors_[k] + rows_[k][place(nonzero)] * stride();
  }
  // sum + value * the product of the rows found, in vector `v`.
  HWY_INLINE Vector add_product(Vector value, std::size_t v, Vector sum) const {
    for (std::size_t k = 0; k + 1 < count(); ++k) value = hn::Mul(value, load(k, v));
    return hn::MulAdd(value, load(count() - 1, v), sum);
  }

 private:
  HWY_INLINE std::size_t count() const { return Factors == any_factors ? count_ : Factors; }
  HWY_INLINE std::size_t stride() const { return Shape::is_whole_row ? Shape::width : stride_; }
  HWY_INLINE Vector load(std::size_t k, std::size_t v) const { return hn::Load(Tag(), found_[k] + v * Shape::lanes); }
  HWY_INLINE static void prefetch(const T* row) {
    for (std::size_t line = 0; line < Shape::lines; ++line) hwy::Prefetch(row + line * line_numbers<T>);
  }

  std::array<const T*, room> factors_;
  std::array<const std::uint32_t*, room> rows_;
  std::array<const T*, room> found_;
  const T* values_;
  T* output_;
  std::size_t stride_;
  std::size_t count_;
  bool prefetch_;
};

template <class T, std::size_t Width, bool Whole, class Loop>
void run_factors(const CoordinateTask<T>& task, std::size_t column, const Loop& loop) {
  using Shape = Columns<T, Width, Whole>;
  if constexpr (BLCO_UNROLLS_ALL && Width >= line_numbers<T>) {
    if (task.factor_count == 2) return loop.template run<Shape, 2>(task, column);
    if (task.factor_count == 3) return loop.template run<Shape, 3>(task, column);
    if (task.factor_count == 4) return loop.template run<Shape, 4>(task, column);
  }
  loop.template run<Shape, any_factors>(task, column);
}

// True if the whole row is one tile.
template <class T>
bool is_one_tile(std::size_t stride) {
  const std::size_t lines = stride / line_numbers<T>;
  return lines <= 4 || (lines == 8 && most_tile_lines<T> == 8);
}

// Calls loop.run<Shape, Factors>(task, column) for tiles of all columns.
template <class T, class Loop>
void run_tiles(const CoordinateTask<T>& task, const Loop& loop) {
  constexpr std::size_t line = line_numbers<T>;
  if (task.stride == 1) return run_factors<T, 1, true>(task, 0, loop);
  if (task.stride == 2) return run_factors<T, 2, true>(task, 0, loop);
  if (task.stride == 4) return run_factors<T, 4, true>(task, 0, loop);
  if constexpr (line > 8) {
    if (task.stride == 8) return run_factors<T, 8, true>(task, 0, loop);
  }
  std::size_t column = 0;
  if constexpr (BLCO_UNROLLS_ALL) {
    if (task.stride == line) return run_factors<T, line, true>(task, 0, loop);
    if (task.stride == 2 * line) return run_factors<T, 2 * line, true>(task, 0, loop);
    if (task.stride == 3 * line) return run_factors<T, 3 * line, true>(task, 0, loop);
    if (task.stride == 4 * line) return run_factors<T, 4 * line, true>(task, 0, loop);
    constexpr std::size_t widest = most_tile_lines<T> * line;
    if constexpr (widest == 8 * line) {
      if (task.stride == widest) return run_factors<T, widest, true>(task, 0, loop);
    }
    for (; column + widest <= task.stride; column += widest) run_factors<T, widest, false>(task, column, loop);
    for (; column + 2 * line <= task.stride; column += 2 * line) run_factors<T, 2 * line, false>(task, column, loop);
  }
  for (; column < task.stride; column += line) run_factors<T, line, false>(task, column, loop);
}

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
