// Segmented sums, included once per instruction set by fcoo_rows_f64.cpp and fcoo_rows_f32.cpp.
#if defined(BLCO_FCOO_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_FCOO_ROWS_INL
#undef BLCO_FCOO_ROWS_INL
#else
#define BLCO_FCOO_ROWS_INL
#endif

#include <algorithm>
#include <bit>

#include "tests/bench/rivals/coordinate_columns-inl.hpp"
#include "tests/bench/rivals/fcoo_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

// Nonzeros of one tile of columns before the next tile, where a row has several: their coordinates and values then come
// from the L1 cache again.
constexpr std::uint64_t tile_nonzeros = 128;

// Where the segment of nonzero `at` ends, `end` at most.
HWY_INLINE std::uint64_t segment_end(const std::uint32_t* flags, std::uint64_t at, std::uint64_t end) {
  constexpr std::uint64_t bits = 32;
  while (at < end) {
    const std::uint32_t ahead = flags[at / bits] >> (at % bits);
    const auto ones = static_cast<std::uint64_t>(std::countr_one(ahead));
    const std::uint64_t left = bits - at % bits;
    if (ones < left) return std::min(at + ones + 1, end);
    at += left;
  }
  return end;
}

template <class T>
struct Segments {
  template <class Shape, std::size_t Factors>
  void run(const CoordinateTask<T>& nonzeros, std::size_t column) const {
    const typename Shape::Tag tag;
    Operands<Shape, Factors, false> operands(nonzeros, column);
    T* out = range.carry != nullptr ? range.carry + column : operands.output(task.rows[range.segment]);
    const std::uint32_t* row = task.rows + range.segment;
    for (std::uint64_t at = range.begin; at < range.end;) {
      const std::uint64_t last = segment_end(task.bit_flags, at, range.end);
      typename Shape::Vector sums[Shape::vectors];
      for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = hn::Load(tag, out + v * Shape::lanes);
      for (; at < last; ++at) {
        operands.prefetch_rows(at + Shape::distance);
        operands.find(at);
        const auto value = operands.value(at);
        for (std::size_t v = 0; v < Shape::vectors; ++v) sums[v] = operands.add_product(value, v, sums[v]);
      }
      for (std::size_t v = 0; v < Shape::vectors; ++v) hn::Store(sums[v], tag, out + v * Shape::lanes);
      if (at < range.end) out = operands.output(*++row);
    }
  }

  const FcooTask<T>& task;
  FcooRange<T> range;
};

// The number of segments that end in [begin, end).
inline std::uint64_t ends_between(const std::uint32_t* flags, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t ends = 0;
  for (std::uint64_t i = begin; i < end; ++i) ends += ~flags[i / 32] >> i % 32 & 1;
  return ends;
}

template <class T>
void add_segments(const FcooTask<T>& task, FcooRange<T> range) {
  if (is_one_tile<T>(task.nonzeros.stride)) return run_tiles(task.nonzeros, Segments<T>{task, range});
  const std::uint64_t end = range.end;
  while (range.begin < end) {
    range.end = std::min(end, range.begin + tile_nonzeros);
    run_tiles(task.nonzeros, Segments<T>{task, range});
    const std::uint64_t ended = ends_between(task.bit_flags, range.begin, range.end);
    range.segment += ended;
    if (ended > 0) range.carry = nullptr;
    range.begin = range.end;
  }
}

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
