// Transposes blocks of rows in registers, as many rows as a vector has lanes.
#include "kernels/host/row_tiles.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/row_tiles.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Must come after foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Tag>;
constexpr std::uint64_t lanes = hn::MaxLanes(Tag());

HWY_INLINE Vector load(const double* from) { return hn::Load(Tag(), from); }
HWY_INLINE Vector load(const float* from) { return hn::PromoteTo(Tag(), hn::Load(hn::Rebind<float, Tag>(), from)); }

// Returns the stored numbers, rounded to the precision of the row.
HWY_INLINE Vector store(Vector v, double* to) {
  hn::Store(v, Tag(), to);
  return v;
}
HWY_INLINE Vector store(Vector v, float* to) {
  const hn::Rebind<float, Tag> tag;
  const auto narrow = hn::DemoteTo(tag, v);
  hn::Store(narrow, tag, to);
  return hn::PromoteTo(Tag(), narrow);
}

// block[i][j] <-> block[j][i], by exchanging ever larger squares: single lanes, 128-bit blocks, halves.
template <class D>
HWY_INLINE void transpose([[maybe_unused]] D tag, [[maybe_unused]] Vector (&block)[lanes]) {
#if HWY_TARGET != HWY_SCALAR  // which lacks these operations
  if constexpr (lanes >= 2) {
    for (std::uint64_t i = 0; i < lanes; i += 2) {
      const Vector lower = hn::InterleaveLower(tag, block[i], block[i + 1]);
      block[i + 1] = hn::InterleaveUpper(tag, block[i], block[i + 1]);
      block[i] = lower;
    }
  }
  if constexpr (lanes >= 4) {
    for (std::uint64_t i = 0; i < lanes; ++i) {
      if ((i & 2) != 0) continue;
      const Vector even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(block[i + 2]), block[i]);
      block[i + 2] = hn::OddEvenBlocks(block[i + 2], hn::SwapAdjacentBlocks(block[i]));
      block[i] = even;
    }
  }
  if constexpr (lanes >= 8) {
    for (std::uint64_t i = 0; i < lanes / 2; ++i) {
      const Vector lower = hn::ConcatLowerLower(tag, block[i + 4], block[i]);
      block[i + 4] = hn::ConcatUpperUpper(tag, block[i + 4], block[i]);
      block[i] = lower;
    }
  }
#endif
}

// Zeroes the rows unless they are const.
template <class T>
void take(RowsView<T> from, std::span<const std::uint64_t> numbers, double* tile) {
  if (from.stride % lanes != 0) {
    std::fill_n(tile, from.stride * solve_tile_rows, 0.0);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      T* row = from.row(numbers[i]);
      for (std::uint64_t j = 0; j < from.stride; ++j) tile[j * solve_tile_rows + i] = static_cast<double>(row[j]);
      if constexpr (!std::is_const_v<T>) std::fill_n(row, from.stride, T{0});
    }
    return;
  }
  for (std::uint64_t i = 0; i < solve_tile_rows; i += lanes) {
    for (std::uint64_t j = 0; j < from.stride; j += lanes) {
      Vector block[lanes];
      for (std::uint64_t k = 0; k < lanes; ++k) {
        block[k] = hn::Zero(Tag());
        if (i + k >= numbers.size()) continue;
        T* row = from.row(numbers[i + k]) + j;
        block[k] = load(row);
        if constexpr (!std::is_const_v<T>) store(hn::Zero(Tag()), row);
      }
      transpose(Tag(), block);
      for (std::uint64_t k = 0; k < lanes; ++k) hn::Store(block[k], Tag(), tile + (j + k) * solve_tile_rows + i);
    }
  }
}

template <class T>
void put(const double* tile, std::span<const std::uint64_t> numbers, RowsView<T> to) {
  if (to.stride % lanes != 0) {
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      T* row = to.row(numbers[i]);
      for (std::uint64_t j = 0; j < to.stride; ++j) row[j] = static_cast<T>(tile[j * solve_tile_rows + i]);
    }
    return;
  }
  for (std::uint64_t i = 0; i < numbers.size(); i += lanes) {
    const std::uint64_t count = std::min(lanes, numbers.size() - i);
    for (std::uint64_t j = 0; j < to.stride; j += lanes) {
      Vector block[lanes];
      for (std::uint64_t k = 0; k < lanes; ++k) block[k] = load(tile + (j + k) * solve_tile_rows + i);
      transpose(Tag(), block);
      for (std::uint64_t k = 0; k < lanes; ++k) {
        if (k >= count) break;
        T* row = to.row(numbers[i + k]) + j;
        store(block[k], row);
      }
    }
  }
}

// `from` and `to` may be the same.
template <class From, class To>
std::uint64_t scale(From* from, To* to, std::uint64_t stride, std::uint64_t mask, const double* factors,
                    std::uint64_t columns, double* tile) {
  constexpr bool moves = !std::is_same_v<From, To>;
  double* packed = tile;
  const std::uint64_t width = std::min(stride, columns);
  for (; mask != 0; mask &= mask - 1, packed += columns) {
    const std::uint64_t row = static_cast<std::uint64_t>(std::countr_zero(mask)) * stride;
    From* given = from + row;
    To* scaled = to + row;
    if (width % lanes != 0) {
      for (std::uint64_t j = 0; j < width; ++j) {
        const auto number = static_cast<double>(given[j]);
        if (factors != nullptr || moves) scaled[j] = static_cast<To>(factors != nullptr ? number * factors[j] : number);
        packed[j] = static_cast<double>(scaled[j]);
        if constexpr (moves) given[j] = 0;
      }
      continue;
    }
    for (std::uint64_t j = 0; j < width; j += lanes) {
      Vector v = load(given + j);
      if (factors != nullptr) v = hn::Mul(v, load(factors + j));
      if (factors != nullptr || moves) v = store(v, scaled + j);
      hn::Store(v, Tag(), packed + j);
      if constexpr (moves) store(hn::Zero(Tag()), given + j);
    }
  }
  return static_cast<std::uint64_t>(packed - tile) / columns;
}

}  // namespace

std::uint64_t nonzero_rows_vectors(const void* rows, std::uint64_t count, std::uint64_t row_bytes) {
  std::uint64_t mask = 0;
  if (row_bytes < cache_line_bytes) {
    const auto* bytes = static_cast<const std::byte*>(rows);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::byte* row = bytes + i * row_bytes;
      const bool zero = std::all_of(row, row + row_bytes, [](std::byte byte) { return byte == std::byte{0}; });
      mask |= std::uint64_t{!zero} << i;
    }
    return mask;
  }
  const hn::RebindToUnsigned<Tag> tag;
  const std::uint64_t words = row_bytes / sizeof(std::uint64_t);
  const auto* row = static_cast<const std::uint64_t*>(rows);
  for (std::uint64_t i = 0; i < count; ++i, row += words) {
    auto bits = hn::Zero(tag);
    for (std::uint64_t j = 0; j < words; j += lanes) bits = hn::Or(bits, hn::Load(tag, row + j));
    mask |= std::uint64_t{!hn::AllTrue(tag, hn::Eq(bits, hn::Zero(tag)))} << i;
  }
  return mask;
}

void take_rows_f64(RowsView<double> from, std::span<const std::uint64_t> numbers, double* tile) {
  take(from, numbers, tile);
}
void take_rows_f32(RowsView<float> from, std::span<const std::uint64_t> numbers, double* tile) {
  take(from, numbers, tile);
}
void copy_rows_f64(RowsView<const double> from, std::span<const std::uint64_t> numbers, double* tile) {
  take(from, numbers, tile);
}
void copy_rows_f32(RowsView<const float> from, std::span<const std::uint64_t> numbers, double* tile) {
  take(from, numbers, tile);
}
void put_rows_f64(const double* tile, std::span<const std::uint64_t> numbers, RowsView<double> to) {
  put(tile, numbers, to);
}
void put_rows_f32(const double* tile, std::span<const std::uint64_t> numbers, RowsView<float> to) {
  put(tile, numbers, to);
}
std::uint64_t scale_rows_f64(double* rows, std::uint64_t stride, std::uint64_t mask, const double* factors,
                             std::uint64_t columns, double* tile) {
  return scale(rows, rows, stride, mask, factors, columns, tile);
}
std::uint64_t scale_rows_f32(float* rows, std::uint64_t stride, std::uint64_t mask, const double* factors,
                             std::uint64_t columns, double* tile) {
  return scale(rows, rows, stride, mask, factors, columns, tile);
}
std::uint64_t scale_rows_mixed(double* from, float* to, std::uint64_t stride, std::uint64_t mask, const double* factors,
                               std::uint64_t columns, double* tile) {
  return scale(from, to, stride, mask, factors, columns, tile);
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(nonzero_rows_vectors);
HWY_EXPORT(take_rows_f64);
HWY_EXPORT(take_rows_f32);
HWY_EXPORT(copy_rows_f64);
HWY_EXPORT(copy_rows_f32);
HWY_EXPORT(put_rows_f64);
HWY_EXPORT(put_rows_f32);
HWY_EXPORT(scale_rows_f64);
HWY_EXPORT(scale_rows_f32);
HWY_EXPORT(scale_rows_mixed);

std::uint64_t nonzero_rows(const void* rows, std::uint64_t count, std::uint64_t row_bytes) {
  return HWY_DYNAMIC_DISPATCH(nonzero_rows_vectors)(rows, count, row_bytes);
}

void take_rows(RowsView<double> from, std::span<const std::uint64_t> numbers, double* tile) {
  HWY_DYNAMIC_DISPATCH(take_rows_f64)(from, numbers, tile);
}
void take_rows(RowsView<float> from, std::span<const std::uint64_t> numbers, double* tile) {
  HWY_DYNAMIC_DISPATCH(take_rows_f32)(from, numbers, tile);
}

void copy_rows(RowsView<const double> from, std::span<const std::uint64_t> numbers, double* tile) {
  HWY_DYNAMIC_DISPATCH(copy_rows_f64)(from, numbers, tile);
}
void copy_rows(RowsView<const float> from, std::span<const std::uint64_t> numbers, double* tile) {
  HWY_DYNAMIC_DISPATCH(copy_rows_f32)(from, numbers, tile);
}

void put_rows(const double* tile, std::span<const std::uint64_t> numbers, RowsView<double> to) {
  HWY_DYNAMIC_DISPATCH(put_rows_f64)(tile, numbers, to);
}
void put_rows(const double* tile, std::span<const std::uint64_t> numbers, RowsView<float> to) {
  HWY_DYNAMIC_DISPATCH(put_rows_f32)(tile, numbers, to);
}

std::uint64_t scale_rows(double* rows, std::uint64_t stride, std::uint64_t mask, const double* scale,
                         std::uint64_t columns, double* tile) {
  return HWY_DYNAMIC_DISPATCH(scale_rows_f64)(rows, stride, mask, scale, columns, tile);
}
std::uint64_t scale_rows(float* rows, std::uint64_t stride, std::uint64_t mask, const double* scale,
                         std::uint64_t columns, double* tile) {
  return HWY_DYNAMIC_DISPATCH(scale_rows_f32)(rows, stride, mask, scale, columns, tile);
}

std::uint64_t scale_rows(double* from, float* to, std::uint64_t stride, std::uint64_t mask, const double* scale,
                         std::uint64_t columns, double* tile) {
  return HWY_DYNAMIC_DISPATCH(scale_rows_mixed)(from, to, stride, mask, scale, columns, tile);
}

}  // namespace blco
#endif  // HWY_ONCE
