// The loop of ALTO, with order, row length and line index width compiled in, once per instruction set.
#include "tests/bench/rivals/alto_lines.hpp"

#include "blco/bits.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/rivals/alto_lines.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#if HWY_ARCH_X86_64
#include <immintrin.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t any_length = 0;

HWY_INLINE std::uint64_t extract(std::uint64_t word, std::uint64_t mask) {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86_64
  return _pext_u64(word, mask);
#else
  return pext_portable(word, mask);
#endif
}

// `Length` numbers of a row; any_length: whole cache lines.
template <class T, std::size_t Order, std::size_t Length, bool HasKey>
void alto_loop(const AltoLines<T>& given) {
  constexpr std::size_t line = cache_line_bytes / sizeof(T);
  const hn::CappedTag<T, (Length == any_length || Length > line ? line : Length)> tag;
  const AltoLines<T> task = given;
  const std::uint64_t length = Length == any_length ? task.stride : Length;
  for (std::uint64_t i = task.begin; i < task.end; ++i) {
    const auto row_of = [&](std::size_t k) HWY_ATTR {
      std::uint64_t row = extract(task.lows[i], task.modes[k].low_mask);
      if constexpr (HasKey) row |= extract(task.keys[i], task.modes[k].high_mask) << task.modes[k].low_bits;
      return row * length;
    };
    std::array<const T*, Order - 1> rows;
    for (std::size_t k = 0; k + 1 < Order; ++k) rows[k] = task.factors[k] + row_of(k);
    T* output = task.output + row_of(Order - 1);
    const auto value = hn::Set(tag, task.values[i]);
    for (std::size_t r = 0; r < length; r += hn::Lanes(tag)) {
      auto product = value;
      for (std::size_t k = 0; k + 2 < Order; ++k) product = hn::Mul(product, hn::Load(tag, rows[k] + r));
      T* out = output + r;
      hn::Store(hn::MulAdd(product, hn::Load(tag, rows[Order - 2] + r), hn::Load(tag, out)), tag, out);
    }
  }
}

template <class T, std::size_t Order, std::size_t Length>
void alto_of_length(const AltoLines<T>& task) {
  constexpr std::size_t length = BLCO_UNROLLS_ALL || Length < cache_line_bytes / sizeof(T) ? Length : any_length;
  task.keys != nullptr ? alto_loop<T, Order, length, true>(task) : alto_loop<T, Order, length, false>(task);
}

template <class T, std::size_t Order>
void alto_of_order(const AltoLines<T>& task) {
  switch (task.stride) {
    case 1:
      return alto_of_length<T, Order, 1>(task);
    case 2:
      return alto_of_length<T, Order, 2>(task);
    case 4:
      return alto_of_length<T, Order, 4>(task);
    case 8:
      return alto_of_length<T, Order, 8>(task);
    case 16:
      return alto_of_length<T, Order, 16>(task);
    case 32:
      return alto_of_length<T, Order, 32>(task);
    case 64:
      return alto_of_length<T, Order, 64>(task);
    default:
      return alto_of_length<T, Order, any_length>(task);
  }
}

template <class T>
void run_alto(const AltoLines<T>& task) {
  if (task.order == 3) return alto_of_order<T, 3>(task);
  if (task.order == 4) return alto_of_order<T, 4>(task);
  return alto_of_order<T, 5>(task);
}

}  // namespace

void alto_lines_f64(const AltoLines<double>& task) { run_alto(task); }
void alto_lines_f32(const AltoLines<float>& task) { run_alto(task); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(alto_lines_f64);
HWY_EXPORT(alto_lines_f32);

void add_alto_lines(const AltoLines<double>& task) { HWY_DYNAMIC_DISPATCH(alto_lines_f64)(task); }
void add_alto_lines(const AltoLines<float>& task) { HWY_DYNAMIC_DISPATCH(alto_lines_f32)(task); }

}  // namespace blco
#endif  // HWY_ONCE
