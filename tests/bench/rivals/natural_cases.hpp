// Tensors in natural order for tests.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/bench/rivals/natural_sort.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {

// A tensor sorted by mode 0, then mode 1, and so on, with what CoordinateLists point to.
struct NaturalTensor {
  CooTensor coo;
  std::vector<std::vector<std::uint32_t>> coordinates;  // per mode

  CoordinateLists view() const {
    CoordinateLists tensor{coo.shape, {}, coo.values};
    for (const std::vector<std::uint32_t>& of_mode : coordinates) tensor.coordinates.emplace_back(of_mode);
    return tensor;
  }
};

inline NaturalTensor natural_tensor(const CooTensor& from) {
  std::vector<std::size_t> entries(from.nnz());
  std::iota(entries.begin(), entries.end(), std::size_t{0});
  const auto point = [&](std::size_t entry) {
    return std::span(from.coordinates).subspan(entry * from.order(), from.order());
  };
  std::ranges::sort(
      entries, [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(point(a), point(b)); });
  NaturalTensor tensor{{from.shape, {}, {}}, {}};
  tensor.coordinates.resize(from.order());
  for (const std::size_t entry : entries) {
    for (std::size_t n = 0; n < from.order(); ++n) {
      tensor.coo.coordinates.push_back(point(entry)[n]);
      tensor.coordinates[n].push_back(static_cast<std::uint32_t>(point(entry)[n]));
    }
    tensor.coo.values.push_back(from.values[entry]);
  }
  return tensor;
}

// From coordinates written side by side, such as {0, 0, 1, 3, 2, 1} for two nonzeros of order 3; all values are 1.
inline NaturalTensor natural_tensor(std::vector<std::uint64_t> shape, std::vector<std::uint64_t> coordinates) {
  const std::size_t nnz = coordinates.size() / shape.size();
  return natural_tensor(CooTensor{std::move(shape), std::move(coordinates), std::vector<double>(nnz, 1.0)});
}

// Figure 4 of Nguyen et al., ICS 2022: 4 x 4 x 4, twelve nonzeros (value 8.0 at (4, 2, 1)).
inline NaturalTensor tensor_of_figure_4() {
  return natural_tensor({4, 4, 4}, {0, 0, 0, 0, 0, 1, 0, 2, 2, 1, 0, 1, 1, 0, 2, 2, 0, 1,
                                    2, 3, 3, 3, 1, 0, 3, 1, 1, 3, 2, 2, 3, 2, 3, 3, 3, 3});
}

}  // namespace blco::testing
