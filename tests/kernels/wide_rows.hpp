// Systems of rows, solved by loops in extended precision.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/random_tensor.hpp"

namespace blco::testing {

using Wide = std::vector<long double>;

// V well away from singular, so that the solution is known to nearly full precision.
inline std::vector<double> definite_matrix(int rank) {
  const auto n = static_cast<std::size_t>(rank);
  std::vector<double> v = random_matrix(n, rank, 5);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) v[j * n + k] = v[k * n + j];
    v[j * n + j] = 1.5 * static_cast<double>(n) + v[j * n + j];
  }
  return v;
}

// Gaussian elimination without pivoting, which a diagonally dominant matrix allows.
inline Wide solve(const std::vector<double>& v, Wide x) {
  const std::size_t n = x.size();
  Wide a(v.begin(), v.end());
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double ratio = a[i * n + k] / a[k * n + k];
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= ratio * a[k * n + j];
      x[i] -= ratio * x[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) x[k] -= a[k * n + j] * x[j];
    x[k] /= a[k * n + k];
  }
  return x;
}
inline Wide solve(const std::vector<double>& v, const double* given, std::size_t n) {
  return solve(v, Wide(given, given + n));
}

inline Wide gram_of(const std::vector<double>& rows, std::size_t n) {
  Wide gram(n * n);
  for (std::size_t start = 0; start < rows.size(); start += n) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) {
        gram[j * n + k] += static_cast<long double>(rows[start + j]) * static_cast<long double>(rows[start + k]);
      }
    }
  }
  return gram;
}

}  // namespace blco::testing
