// The loss of a model over every entry of a small tensor, written out: the oracle of generalised CP.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <random>
#include <vector>

#include "blco/loss.hpp"
#include "tests/engine/coordinate_tensor.hpp"

namespace blco {

using Matrices = std::vector<std::vector<double>>;  // per mode, row-major

// Hong, Kolda & Duersch 2020, table 1. Their e counts in `unit`.
template <class Number>
Number dense_term(const Loss& loss, Number x, Number m, double unit = 1) {
  const Number e = static_cast<Number>(1e-10L) * static_cast<Number>(unit);
  const Number parameter = loss.parameter;
  switch (loss.kind) {
    case LossKind::gaussian:
      return (x - m) * (x - m);
    case LossKind::poisson:
      return m - x * std::log(m + e);
    case LossKind::poisson_log:
      return std::exp(m) - x * m;
    case LossKind::bernoulli_odds:
      return std::log(m + 1) - x * std::log(m + e);
    case LossKind::bernoulli_logit:
      return std::log1p(std::exp(m)) - x * m;
    case LossKind::gamma:
      return x / (m + e) + std::log(m + e);
    case LossKind::rayleigh:
      return 2 * std::log(m + e) + std::numbers::pi_v<Number> / 4 * (x / (m + e)) * (x / (m + e));
    case LossKind::huber: {
      const Number d = std::abs(x - m);
      return d <= parameter ? d * d : 2 * parameter * d - parameter * parameter;
    }
    case LossKind::beta:
      return std::pow(m + e, parameter) / parameter - x * std::pow(m + e, parameter - 1) / (parameter - 1);
  }
  return 0;
}

inline double dense_model(const Matrices& factors, std::size_t rank, const Point& at) {
  double sum = 0;
  for (std::size_t r = 0; r < rank; ++r) {
    double product = 1;
    for (std::size_t n = 0; n < at.size(); ++n) product *= factors[n][at[n] * rank + r];
    sum += product;
  }
  return sum;
}

// Calls visit(coordinates, value) for all entries, zeros included.
template <class Visit>
void for_each_dense_entry(const CoordinateTensor& tensor, const Visit& visit) {
  const std::map<Point, double> given = summed(tensor);
  Point at(tensor.shape.size(), 0);
  for (;;) {
    const auto found = given.find(at);
    visit(at, found == given.end() ? 0.0 : found->second);
    std::size_t n = 0;
    while (n < at.size() && ++at[n] == tensor.shape[n]) at[n++] = 0;
    if (n == at.size()) return;
  }
}

// The first power of 2 that is at least the root mean square of the given values: fits take it for their unit.
inline double unit_of_values(const CoordinateTensor& tensor) {
  const std::map<Point, double> given = summed(tensor);
  double mean_square = 0;
  for (const auto& [at, x] : given) mean_square += x * x / static_cast<double>(given.size());
  double unit = 1;
  while (unit * unit < mean_square) unit *= 2;
  while (unit * unit / 4 >= mean_square) unit /= 2;
  return unit;
}

// Over all entries, or over the given ones.
inline double dense_loss(const CoordinateTensor& tensor, const Matrices& factors, std::size_t rank, const Loss& loss,
                         bool with_zeros, double unit = 1) {
  double sum = 0;
  if (with_zeros) {
    for_each_dense_entry(
        tensor, [&](const Point& at, double x) { sum += dense_term(loss, x, dense_model(factors, rank, at), unit); });
  } else {
    for (const auto& [at, x] : summed(tensor)) sum += dense_term(loss, x, dense_model(factors, rank, at));
  }
  return sum;
}

inline Matrices uniform_factors(const std::vector<std::uint64_t>& shape, std::size_t rank, std::uint64_t seed,
                                double lower = 0.1, double upper = 1.0) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(lower, upper);
  Matrices factors;
  for (const std::uint64_t length : shape) {
    factors.emplace_back(length * rank);
    for (double& entry : factors.back()) entry = number(random);
  }
  return factors;
}

// Independent draws at every entry of the tensor that the factors make: counts with that mean, or ones with that
// probability, cut to [0, 1].
inline CoordinateTensor planted_entries(const Matrices& factors, std::size_t rank, std::uint64_t seed, bool counts) {
  CoordinateTensor tensor;
  for (const std::vector<double>& factor : factors) tensor.shape.push_back(factor.size() / rank);
  std::mt19937_64 random(seed);
  for_each_dense_entry(tensor, [&](const Point& at, double) {
    const double m = std::max(0.0, dense_model(factors, rank, at));
    const double x = counts ? static_cast<double>(std::poisson_distribution<int>(m)(random))
                            : static_cast<double>(std::bernoulli_distribution(std::min(1.0, m))(random));
    if (x == 0) return;
    tensor.points.push_back(at);
    tensor.values.push_back(x);
  });
  return tensor;
}

}  // namespace blco
