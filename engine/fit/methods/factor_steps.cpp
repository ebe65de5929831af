#include "engine/fit/methods/factor_steps.hpp"

#include <cstddef>
#include <numeric>

namespace blco {
namespace {

std::uint64_t sum_of(std::span<const std::uint64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{0});
}

// Calls visit(mode, its numbers) for each mode.
template <class Number, class Visit>
void for_each_factor(std::span<const std::uint64_t> shape, std::span<Number> numbers, const Visit& visit) {
  const std::uint64_t rank = numbers.size() / sum_of(shape);
  std::size_t first = 0;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const auto count = static_cast<std::size_t>(shape[n] * rank);
    visit(static_cast<int>(n), numbers.subspan(first, count));
    first += count;
  }
}

}  // namespace

std::vector<double> product_of_grams(Steps& steps, int order, int rank, int left_out) {
  std::vector<double> product(static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank), 1.0);
  for (int mode = 0; mode < order; ++mode) {
    if (mode == left_out) continue;
    const std::span<const double> gram = steps.gram(mode);
    for (std::size_t i = 0; i < product.size(); ++i) product[i] *= gram[i];
  }
  return product;
}

VectorShape vector_of_all_modes(const TensorSummary& tensor, std::string_view name) {
  return {.rows = sum_of(tensor.shape), .has_all_modes = true, .name = name};
}

void copy_all_to_vector(Rows& factors, int order, int vector) {
  for (int mode = 0; mode < order; ++mode) factors.copy_to_vector(mode, vector);
}

void copy_all_from_vector(Rows& factors, int order, int vector) {
  for (int mode = 0; mode < order; ++mode) factors.copy_from_vector(mode, vector);
}

std::uint64_t factor_numbers(const TensorSummary& tensor, int rank) {
  return sum_of(tensor.shape) * static_cast<std::uint64_t>(rank);
}

void load_all_factors(Rows& factors, std::span<const std::uint64_t> shape, std::span<const double> numbers) {
  for_each_factor(shape, numbers,
                  [&](int mode, std::span<const double> factor) { factors.load_factor(mode, 0, factor); });
}

void store_all_factors(Rows& factors, std::span<const std::uint64_t> shape, std::span<double> numbers) {
  for_each_factor(shape, numbers, [&](int mode, std::span<double> factor) { factors.store_factor(mode, 0, factor); });
}

}  // namespace blco
