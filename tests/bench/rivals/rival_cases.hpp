// Rivals against a loop over coordinates.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/rivals/natural_cases.hpp"
#include "tests/bench/rivals/rival.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {

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
