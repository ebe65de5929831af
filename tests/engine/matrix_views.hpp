// Factors of tests as the library takes them.
#pragma once

#include <blco/views.hpp>
#include <vector>

namespace blco {

inline std::vector<MatrixView> matrix_views(const std::vector<std::vector<double>>& factors, int rank) {
  std::vector<MatrixView> views;
  const auto columns = static_cast<std::size_t>(rank);
  for (const std::vector<double>& factor : factors) views.push_back({factor.data(), factor.size() / columns, columns});
  return views;
}

}  // namespace blco
