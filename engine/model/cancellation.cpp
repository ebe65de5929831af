// Compares the largest components of a model in pairs.
#include <algorithm>
#include <blco/model_summary.hpp>
#include <cmath>
#include <cstddef>
#include <span>

#include "engine/model/factor_columns.hpp"
#include "engine/model/model_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

constexpr double min_excess = 3;
constexpr double max_congruence = -0.05;  // above it a pair is at right angles but for noise
constexpr std::size_t max_compared = 64;

// The 2-norm of each component. That is its weight where columns have norm 1, as those of a fit do.
std::vector<double> component_norms(const CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  std::vector<double> norms;
  for (const double weight : model.weights) norms.push_back(std::abs(weight));
  for (const std::vector<double>& factor : model.factors) {
    const std::vector<double> squares = column_squares(factor, rank);
    for (std::size_t r = 0; r < rank; ++r) norms[r] *= std::sqrt(squares[r]);
  }
  return norms;
}

// The components above `limit`, largest first.
std::vector<std::size_t> largest_components(const std::vector<double>& norms, double limit) {
  std::vector<std::size_t> numbers =
      largest_places(norms.size(), max_compared, [&](std::size_t r) { return norms[r]; });
  std::erase_if(numbers, [&](std::size_t r) { return !(norms[r] > limit); });
  return numbers;
}

// Products of the columns `numbers` of a factor: the lower triangle of a row-major matrix.
std::vector<double> gram_of_columns(std::span<const double> factor, std::size_t rank,
                                    const std::vector<std::size_t>& numbers) {
  const std::size_t count = numbers.size();
  std::vector<double> gram(count * count);
  std::vector<double> row(count);
  for (std::size_t first = 0; first < factor.size(); first += rank) {
    for (std::size_t i = 0; i < count; ++i) row[i] = factor[first + numbers[i]];
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j <= i; ++j) gram[i * count + j] += row[i] * row[j];
    }
  }
  return gram;
}

// The product over the modes of the cosines of each pair, in the same form.
std::vector<double> congruences(const CpdModel& model, const std::vector<std::size_t>& numbers) {
  const std::size_t count = numbers.size();
  std::vector<double> products(count * count, 1.0);
  for (const std::vector<double>& factor : model.factors) {
    const std::vector<double> gram = gram_of_columns(factor, static_cast<std::size_t>(model.rank), numbers);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        products[i * count + j] *= gram[i * count + j] / std::sqrt(gram[i * count + i] * gram[j * count + j]);
      }
    }
  }
  // A negative weight turns its component round.
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (std::signbit(model.weights[numbers[i]]) != std::signbit(model.weights[numbers[j]]))
        products[i * count + j] *= -1;
    }
  }
  return products;
}

// Whether the model's norm over all cells is to be compared with that of the listed entries.
bool has_the_scale_of_the_tensor(const CpdModel& model) {
  return model.method != "complete" && scale_of(model.loss) == ModelScale::size;
}

}  // namespace

std::optional<Cancellation> find_cancellation(const CpdModel& model) {
  check_sizes(model, "cannot compare the components of the model");
  if (!has_the_scale_of_the_tensor(model)) return std::nullopt;
  const double tensor_norm = std::sqrt(model.tensor_sum_of_squares);
  if (!(tensor_norm > 0)) return std::nullopt;
  const std::vector<double> norms = component_norms(model);
  const std::vector<std::size_t> numbers = largest_components(norms, tensor_norm);
  if (numbers.empty() || norms[numbers.front()] <= min_excess * tensor_norm) return std::nullopt;
  const std::vector<double> products = congruences(model, numbers);
  Cancellation found{.excess = norms[numbers.front()] / tensor_norm};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (products[i * numbers.size() + j] >= found.congruence) continue;
      found.congruence = products[i * numbers.size() + j];
      found.first = static_cast<int>(numbers[j]);
      found.second = static_cast<int>(numbers[i]);
    }
  }
  return found.congruence <= max_congruence ? std::optional(found) : std::nullopt;
}

}  // namespace blco
