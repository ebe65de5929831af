#include "kernels/tile_products.hpp"

#include <array>

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/tile_products.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Tag>;
constexpr std::size_t lanes = hn::MaxLanes(Tag());

// So many columns at once that their sums stay in registers.
template <std::size_t Columns>
HWY_INLINE void add_block(const double* columns, const double* vectors, double* sums) {
  Vector sum[Columns * product_vectors];
  for (Vector& each : sum) each = hn::Zero(Tag());
  for (std::size_t i = 0; i < product_tile; i += lanes) {
    Vector given[product_vectors];
    for (std::size_t v = 0; v < product_vectors; ++v) given[v] = hn::Load(Tag(), vectors + v * product_tile + i);
    for (std::size_t k = 0; k < Columns; ++k) {
      const Vector column = hn::Load(Tag(), columns + k * product_tile + i);
      for (std::size_t v = 0; v < product_vectors; ++v) {
        Vector& each = sum[k * product_vectors + v];
        each = hn::MulAdd(column, given[v], each);
      }
    }
  }
  for (std::size_t i = 0; i < Columns * product_vectors; ++i) sums[i] += hn::GetLane(hn::SumOfLanes(Tag(), sum[i]));
}

}  // namespace

void add_products_vectors(const double* columns, std::size_t count, const double* vectors, double* sums) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) add_block<4>(columns + k * product_tile, vectors, sums + k * product_vectors);
  if (k < count) add_block<2>(columns + k * product_tile, vectors, sums + k * product_vectors);
}

// Two columns at a time, each from its beginning to its end, as memory is read fastest.
void add_columns_vectors(const double* columns, std::size_t count, const double* factors, double* sum) {
  for (std::size_t k = 0; k < count; k += 2) {
    const Vector a = hn::Set(Tag(), factors[k]);
    const Vector b = hn::Set(Tag(), factors[k + 1]);
    for (std::size_t i = 0; i < product_tile; i += lanes) {
      const double* const at = columns + k * product_tile + i;
      const Vector part = hn::MulAdd(a, hn::Load(Tag(), at), hn::Load(Tag(), sum + i));
      hn::Store(hn::MulAdd(b, hn::Load(Tag(), at + product_tile), part), Tag(), sum + i);
    }
  }
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(add_products_vectors);
HWY_EXPORT(add_columns_vectors);

void add_products(const double* columns, std::size_t count, const double* vectors, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_products_vectors)(columns, count, vectors, sums);
}

void add_columns(const double* columns, std::size_t count, const double* factors, double* sum) {
  HWY_DYNAMIC_DISPATCH(add_columns_vectors)(columns, count, factors, sum);
}

// Eight sums, which a processor adds up side by side.
double inner_product(const double* a, const double* b, std::size_t size) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= size; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace blco
#endif  // HWY_ONCE
