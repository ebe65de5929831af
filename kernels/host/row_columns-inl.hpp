// Rows and columns of matrices as the row kernels see them, included once per instruction set.
#if defined(BLCO_ROW_COLUMNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_ROW_COLUMNS_INL
#undef BLCO_ROW_COLUMNS_INL
#else
#define BLCO_ROW_COLUMNS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if HWY_ARCH_X86_64
#include <immintrin.h>
#endif

#include <array>
#include <utility>

#include "blco/bits.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr bool has_vectors = HWY_TARGET != HWY_SCALAR;
constexpr bool unrolls_all = BLCO_UNROLLS_ALL;
// Columns are processed in tiles of at most tile_lines cache lines, so that the sums of a row stay in registers; one
// line more forms one tile, so that a tile of up to whole_lines is always a whole row.
constexpr std::size_t tile_lines = unrolls_all ? 8 : has_vectors ? 3 : 1;
constexpr std::size_t whole_lines = unrolls_all ? 4 : has_vectors ? 1 : 0;
constexpr std::size_t max_lines = has_vectors ? tile_lines + 1 : 1;
constexpr int any_count = -1;
constexpr double one = 1;

template <class T>
constexpr std::size_t line_columns = cache_line_bytes / sizeof(T);
template <class T, std::size_t Width>
constexpr std::size_t lines_of = (Width + line_columns<T> - 1) / line_columns<T>;

// `Width` columns of a task as whole vectors of sums.
template <class Task, std::size_t Width>
struct Tile {
  using Sum = typename Task::SumType;
  using Factor = typename Task::FactorType;
  using Tag = hn::CappedTag<Sum, (Width < line_columns<Sum> ? Width : line_columns<Sum>)>;
  using Vector = hn::Vec<Tag>;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag());
  static constexpr std::size_t vectors = Width / lanes;
  static constexpr std::size_t width = Width;
  static constexpr bool is_whole_row = Width <= whole_lines * line_columns<Sum>;
  static constexpr std::size_t factor_lines = lines_of<Factor, Width>;
  // Every second nonzero of a fiber goes to a sum of its own, so that it need not wait for the addition before it. With
  // more vectors there are enough additions at once.
  static constexpr bool pairs_nonzeros = vectors <= 4;
  // Nonzeros between a prefetch and its use: at a longer distance, wide rows would evict each other from the L1 cache.
  static constexpr std::size_t prefetch_distance = factor_lines <= 2 ? 16 : 8;
};

template <class Tag, class T>
HWY_INLINE hn::Vec<Tag> load_numbers(Tag tag, const T* from) {
  if constexpr (std::is_same_v<T, hn::TFromD<Tag>>) {
    return hn::Load(tag, from);
  } else {
    return hn::PromoteTo(tag, hn::Load(hn::Rebind<T, Tag>(), from));
  }
}

// Distance, in nonzeros, at which line indices and values are prefetched.
constexpr std::size_t stream_distance = 64;
// Rows that lie in memory: of arranged nonzeros, whose arrays go on past the last one, or of the ring of decoded
// frames, where a prefetch past the last one hits an earlier chunk's row, which does no harm.
template <bool is_ring>
class StoredRows {
 public:
  StoredRows() = default;
  StoredRows(const std::uint64_t*, const std::uint32_t* rows, std::uint64_t) : rows_(rows) {}
  HWY_INLINE std::uint64_t row(std::size_t at) const { return rows_[at]; }
  HWY_INLINE std::uint64_t row_ahead(std::size_t at) const { return rows_[is_ring ? at % ring_entries : at]; }
  static std::size_t prefetched(std::size_t count, std::size_t) { return count; }
  static constexpr bool streams = false;

 private:
  const std::uint32_t* rows_ = nullptr;
};
using RingRows = StoredRows<true>;
using ListRows = StoredRows<false>;

// Rows extracted from line indices.
class LineRows {
 public:
  LineRows() = default;
  LineRows(const std::uint64_t* lines, const std::uint32_t*, std::uint64_t mask) : lines_(lines), mask_(mask) {}
  HWY_INLINE std::uint64_t row(std::size_t at) const {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86_64
    return _pext_u64(lines_[at], mask_);
#else
    return pext_portable(lines_[at], mask_);
#endif
  }
  HWY_INLINE std::uint64_t row_ahead(std::size_t at) const { return row(at); }
  // The same for the same row.
  HWY_INLINE std::uint64_t key(std::size_t at) const { return lines_[at] & mask_; }
  // How many of `count` nonzeros have another one `distance` further on.
  static std::size_t prefetched(std::size_t count, std::size_t distance) {
    return count < distance ? 0 : count - distance;
  }
  static constexpr bool streams = true;

 private:
  const std::uint64_t* lines_ = nullptr;
  std::uint64_t mask_ = 0;
};

// A matrix's columns from `column` on. Addresses are integers, so that `first_row` costs nothing per row and a prefetch
// may point anywhere.
template <class T, class Shape, class Rows>
class ColumnsOf {
 public:
  ColumnsOf() = default;
  ColumnsOf(const T* matrix, Rows rows, std::uint64_t first_row, std::uint64_t stride, std::size_t column)
      : rows_(rows), stride_bytes_(stride * sizeof(T)) {
    base_ = reinterpret_cast<std::uintptr_t>(matrix + column) - first_row * stride_bytes_;
  }

  HWY_INLINE std::uintptr_t address(std::size_t at) const { return address_of(rows_.row(at)); }
  HWY_INLINE std::uint64_t key(std::size_t at) const { return rows_.key(at); }
  HWY_INLINE void prefetch(std::size_t at) const {
    const std::uintptr_t from = address_of(rows_.row_ahead(at));
    for (std::size_t line = 0; line < lines_of<T, Shape::width>; ++line) {
      hwy::Prefetch(reinterpret_cast<const T*>(from + line * cache_line_bytes));
    }
  }

 private:
  HWY_INLINE std::uintptr_t address_of(std::uint64_t row) const {
    // The stride of a whole row is a constant: a shift, which does not compete with pext as a multiplication would.
    return base_ + row * (Shape::is_whole_row ? Shape::width * sizeof(T) : stride_bytes_);
  }

  std::uintptr_t base_ = 0;
  Rows rows_;
  std::uint64_t stride_bytes_ = 0;
};

// A task's parameters for some columns, copied so that the compiler knows that no store changes them. `Count` is the
// number of other modes, or any_count.
template <class Task, std::size_t Width, int Count, class Rows>
class Columns {
  static constexpr std::size_t room = Count == any_count ? max_order : Count;

 public:
  using Shape = Tile<Task, Width>;
  using Sum = typename Shape::Sum;
  using Factor = typename Shape::Factor;
  using Tag = typename Shape::Tag;
  using Vector = typename Shape::Vector;
  using Operands = std::array<const Factor*, room>;  // the factor rows of one nonzero

  Columns(const Task& task, std::size_t column)
      : output_(columns_of(task, task.output, column)),
        lines_(task.lines),
        values_(task.values != nullptr ? task.values : &one),
        values_mask_(task.values != nullptr ? ~std::size_t{0} : 0),
        fiber_mask_(task.fiber_mask),
        count_(Count == any_count ? static_cast<std::size_t>(task.factor_count) : room),
        prefetch_(task.prefetch) {
    for (std::size_t k = 0; k < count_; ++k) {
      factors_[k] = columns_of(task, task.factors[k], column);
      prefetches_factor_[k] = task.factors[k].prefetch;
    }
  }

  HWY_INLINE bool prefetches() const { return prefetch_; }
  HWY_INLINE Sum* output(std::size_t at) const { return reinterpret_cast<Sum*>(output_.address(at)); }
  // The same for nonzeros of the same target row, or of the same fiber.
  HWY_INLINE std::uint64_t target(std::size_t at) const { return output_.key(at); }
  HWY_INLINE std::uint64_t fiber(std::size_t at) const { return lines_[at] & fiber_mask_; }
  HWY_INLINE Vector value(std::size_t at) const { return hn::Set(Tag(), static_cast<Sum>(values_[at & values_mask_])); }

  // Prefetches what a later nonzero needs; a prefetch past the end of an array does no harm.
  HWY_INLINE void prefetch_stream(std::size_t at) const {
    if constexpr (Rows::streams) {
      hwy::Prefetch(lines_ + at + stream_distance);
      hwy::Prefetch(values_ + (at & values_mask_) + stream_distance);
    }
  }
  HWY_INLINE void prefetch_after(std::size_t at) const {
    output_.prefetch(at + Shape::prefetch_distance);
    for (std::size_t k = 0; k < count_; ++k) factors_[k].prefetch(at + Shape::prefetch_distance);
  }
  // Only of factors beyond the caches, as arranged nonzeros have it.
  HWY_INLINE void prefetch_factors(std::size_t at) const {
    for (std::size_t k = 0; k < count_; ++k) {
      if (prefetches_factor_[k]) factors_[k].prefetch(at);
    }
  }

  HWY_INLINE void find_operands(std::size_t at, Operands& rows) const {
    for (std::size_t k = 0; k < count_; ++k) rows[k] = reinterpret_cast<const Factor*>(factors_[k].address(at));
  }

  // Of fibers: the row of the last factor is that of a nonzero, the others those of a fiber.
  HWY_INLINE void prefetch_last(std::size_t at) const { factors_[count_ - 1].prefetch(at); }
  HWY_INLINE const Factor* last_operand(std::size_t at) const {
    return reinterpret_cast<const Factor*>(factors_[count_ - 1].address(at));
  }
  HWY_INLINE Vector add_last(const Factor* row, Vector value, std::size_t offset, Vector sum) const {
    return hn::MulAdd(value, load_numbers(Tag(), row + offset), sum);
  }
  HWY_INLINE void find_shared(std::size_t fiber, Operands& rows) const {
    for (std::size_t k = 0; k + 1 < count_; ++k) rows[k] = reinterpret_cast<const Factor*>(factors_[k].address(fiber));
  }
  // sum + of_fiber * the product of the rows that the fiber's nonzeros share
  HWY_INLINE Vector add_shared(const Operands& rows, Vector of_fiber, std::size_t offset, Vector sum) const {
    for (std::size_t k = 0; k + 2 < count_; ++k) of_fiber = hn::Mul(of_fiber, load_numbers(Tag(), rows[k] + offset));
    return hn::MulAdd(of_fiber, load_numbers(Tag(), rows[count_ - 2] + offset), sum);
  }

  // sum + value * the product of all rows at `offset`
  HWY_INLINE Vector add_product(const Operands& rows, Vector value, std::size_t offset, Vector sum) const {
    if (count_ == 0) return hn::Add(sum, value);
    for (std::size_t k = 0; k + 1 < count_; ++k) value = hn::Mul(value, load_numbers(Tag(), rows[k] + offset));
    return hn::MulAdd(value, load_numbers(Tag(), rows[count_ - 1] + offset), sum);
  }

 private:
  template <class T>
  static ColumnsOf<T, Shape, Rows> columns_of(const Task& task, const IndexedRows<T>& of, std::size_t column) {
    return {of.matrix, Rows(task.lines, of.rows, of.mask), of.first_row, task.stride, column};
  }

  ColumnsOf<Sum, Shape, Rows> output_;
  std::array<ColumnsOf<const Factor, Shape, Rows>, room> factors_;
  std::array<bool, room> prefetches_factor_{};
  const std::uint64_t* lines_;
  const double* values_;
  std::size_t values_mask_;  // 0: all are the same
  std::uint64_t fiber_mask_;
  std::size_t count_;
  bool prefetch_;
};

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
