// What tests of several workers fit, and how they compare models.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {

inline constexpr std::uint64_t chunk_nnz = 3000;

inline TensorFile ingest_counts(const TemporaryFolder& folder, const std::vector<std::uint64_t>& shape,
                                const std::string& name = "in") {
  const CoordinateTensor tensor = random_coordinates({.shape = shape, .nnz = 20'000, .seed = 4, .counts = true});
  ingest_files({folder.write(name + ".tns", as_text(tensor))}, folder / (name + ".blco"),
               {.shape = shape, .chunk_nnz = chunk_nnz});
  return TensorFile(folder / (name + ".blco"));
}

inline void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const double number : expected) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << i;
}

inline void expect_same_model(const CpdModel& actual, const CpdModel& expected, double tolerance) {
  expect_near(actual.fit_history, expected.fit_history, tolerance);
  expect_near(actual.objective_history, expected.objective_history, tolerance);
  expect_near(actual.weights, expected.weights, tolerance);
  for (std::size_t n = 0; n < expected.factors.size(); ++n) {
    expect_near(actual.factors[n], expected.factors[n], tolerance);
  }
}

}  // namespace blco
