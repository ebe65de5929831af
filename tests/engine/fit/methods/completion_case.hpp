// What tests of completion share: noisy cells of a known model, given and held out.
#pragma once

#include <list>
#include <utility>

#include "tests/engine/fit/dense_model.hpp"

namespace blco {

inline CpdOptions completion_options(int sweeps, const CpdModel* initial = nullptr,
                                     const CompletionMethod& method = {}) {
  CpdOptions options{.method = method, .rank = 3, .max_sweeps = sweeps, .tolerance = 0, .ridge = 0};
  options.compute.devices = {"cpu"};
  options.compute.threads = 1;
  options.initial = initial;
  return options;
}

// Cells of a model of rank 3 with some noise: `nnz` of them, each at most once.
inline CoordinateTensor noisy_cells(const std::vector<std::uint64_t>& shape, std::size_t nnz, std::uint64_t seed) {
  const CpdModel truth = uniform_model(shape, 3, 77);
  CoordinateTensor tensor = random_coordinates({.shape = shape, .nnz = nnz, .seed = seed});
  std::map<Point, double> cells;
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    cells[tensor.points[i]] = model_value(truth, tensor.points[i]) + 0.05 * tensor.values[i];
  }
  tensor.points.clear();
  tensor.values.clear();
  for (const auto& [point, value] : cells) {
    tensor.points.push_back(point);
    tensor.values.push_back(value);
  }
  return tensor;
}

class CompletionCase : public testing::Test {
 protected:
  CompletionCase() : tensor_(ingest_small_chunks(folder_, noisy_cells(shape(), 8'000, 3), {.chunk_nnz = 500})) {}

  static std::vector<std::uint64_t> shape() { return {60, 50, 40}; }
  TensorFile held_out(std::uint64_t seed, IngestOptions options = {}) {
    folders_.emplace_back();
    return ingest_small_chunks(folders_.back(), noisy_cells(shape(), 2000, seed), std::move(options));
  }

  std::list<TemporaryFolder> folders_;
  TemporaryFolder folder_;
  TensorFile tensor_;
};

}  // namespace blco
