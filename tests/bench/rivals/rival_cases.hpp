// Tensors in natural order for rivals, and rivals against a loop over coordinates.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/rivals/rival.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {

// A tensor sorted by mode 0, then mode 1, and so on, with what a RivalTensor points to.
struct NaturalTensor {
  CooTensor coo;
  std::vector<std::vector<std::uint32_t>> coordinates;  // per mode

  RivalTensor view() const {
    RivalTensor tensor{coo.shape, {}, coo.values};
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

// Loads the factors, runs `mode` and gives its output.
inline std::vector<double> rival_rows(Rival& rival, const CooTensor& tensor,
                                      const std::vector<std::vector<double>>& factors, int rank, std::size_t mode) {
  for (std::size_t n = 0; n < factors.size(); ++n) rival.load_factor(static_cast<int>(n), factors[n]);
  rival.mttkrp(static_cast<int>(mode));
  rival.mttkrp(static_cast<int>(mode));  // starts from zero again
  std::vector<double> rows(static_cast<std::size_t>(tensor.shape[mode]) * static_cast<std::size_t>(rank));
  rival.read_output(rows);
  return rows;
}

// Runs the kinds on `tensor` for every mode, in f64 and f32, and compares with the definition.
inline void expect_mttkrp(std::span<const RivalKind> kinds, const NaturalTensor& tensor, int rank, int threads,
                          const RivalKnobs& knobs = {}) {
  ThreadExecutor executor(threads);
  const auto factors = random_factors(tensor.coo.shape, rank, 5);
  std::vector<ExpectedRows> expected;
  for (std::size_t mode = 0; mode < tensor.coo.order(); ++mode) {
    expected.push_back(coordinate_mttkrp(tensor.coo, factors, rank, mode));
  }
  for (const RivalKind kind : kinds) {
    for (const Precision precision : {Precision::f64, Precision::f32}) {
      const RivalOptions options{.rank = rank, .precision = precision, .knobs = knobs};
      const auto rival = make_rival(kind, tensor.view(), options, executor);
      const double tolerance = precision == Precision::f64 ? 1e-12 : 1e-5;
      for (std::size_t mode = 0; mode < tensor.coo.order(); ++mode) {
        EXPECT_THAT(rival_rows(*rival, tensor.coo, factors, rank, mode), RowsNear(expected[mode], tolerance))
            << name_of(kind) << ", rank " << rank << ", mode " << mode << ", " << (tolerance < 1e-9 ? "f64, " : "f32, ")
            << threads << " threads";
      }
    }
  }
}

inline bool has_rival(RivalKind kind, const NaturalTensor& tensor) {
  return why_no_rival(kind, tensor.coo.shape, tensor.coo.nnz(), {}).empty();
}

// Shapes of orders 3 to 5, some with more rows than nonzeros, and ranks around the lengths of vectors and tiles.
inline const std::vector<std::vector<std::uint64_t>>& rival_shapes() {
  static const std::vector<std::vector<std::uint64_t>> shapes{{40, 31, 57}, {12, 900, 5, 60}, {9, 8, 7, 6, 5}};
  return shapes;
}
inline constexpr int rival_ranks[] = {1, 8, 16, 17, 32, 33, 64};

}  // namespace blco::testing
