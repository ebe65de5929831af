// Models of small tensors, cell by cell, for oracles that know nothing of sparse tensors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {

inline std::vector<Point> cells_of(const std::vector<std::uint64_t>& shape) {
  std::vector<Point> cells{{}};
  for (const std::uint64_t length : shape) {
    std::vector<Point> longer;
    for (const Point& cell : cells) {
      for (std::uint64_t i = 0; i < length; ++i) {
        longer.push_back(cell);
        longer.back().push_back(i);
      }
    }
    cells = longer;
  }
  return cells;
}

// The product of component r's entries at a cell, but for mode `left_out` (-1: none), without its weight.
inline double product_at(const CpdModel& model, const Point& cell, std::size_t r, int left_out = -1) {
  double product = 1;
  for (std::size_t n = 0; n < cell.size(); ++n) {
    if (static_cast<int>(n) == left_out) continue;
    product *= model.factors[n][cell[n] * static_cast<std::size_t>(model.rank) + r];
  }
  return product;
}

inline double model_value(const CpdModel& model, const Point& cell) {
  double sum = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(model.rank); ++r) {
    sum += model.weights[r] * product_at(model, cell, r);
  }
  return sum;
}

inline CpdModel uniform_model(const std::vector<std::uint64_t>& shape, int rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  CpdModel model;
  model.shape = shape;
  model.rank = rank;
  model.weights.assign(static_cast<std::size_t>(rank), 1.0);
  for (const std::uint64_t length : shape) {
    std::vector<double>& factor = model.factors.emplace_back(length * static_cast<std::uint64_t>(rank));
    for (double& entry : factor) entry = (static_cast<double>(random() % 1000) + 1) / 1000;
  }
  return model;
}

inline TensorFile ingest_small_chunks(const TemporaryFolder& folder, const CoordinateTensor& tensor,
                                      IngestOptions options = {}) {
  options.shape = tensor.shape;
  if (options.chunk_nnz == default_chunk_nnz) options.chunk_nnz = 500;
  ingest_files({folder.write("small.tns", as_text(tensor))}, folder / "small.blco", options);
  return TensorFile(folder / "small.blco");
}

inline void expect_same_cells(const CpdModel& actual, const CpdModel& expected, double tolerance) {
  for (const Point& cell : cells_of(expected.shape)) {
    const double wanted = model_value(expected, cell);
    ASSERT_NEAR(model_value(actual, cell), wanted, tolerance * std::max(wanted, 1.0));
  }
}

inline void expect_same_bits(const CpdModel& actual, const CpdModel& expected) {
  EXPECT_EQ(actual.objective_history, expected.objective_history);
  EXPECT_EQ(actual.weights, expected.weights);
  EXPECT_EQ(actual.factors, expected.factors);
}

}  // namespace blco
