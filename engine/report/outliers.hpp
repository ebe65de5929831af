// Rows of a model that stand out: those that shape its components most, and those that it says least of.
#pragma once

#include <blco/model.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

// Of each row of each mode the sum of (x - m)^2 over all cells of its slice, for entries x and values m of the model;
// of a completion over its entries alone. Memory: 8 bytes per row.
class RowErrors {
 public:
  // False where the model has logarithms or odds, from which entries cannot be subtracted.
  static bool are_defined(const CpdModel& model);

  // Requires: sizes that agree. `model` must outlive this.
  explicit RowErrors(const CpdModel& model);

  // An entry of the tensor, each once, and the model's value there.
  void add(const std::uint64_t* cell, double value, double of_model) {
    const double error = has_absent_ ? value * (value - 2 * of_model) : (value - of_model) * (value - of_model);
    for (std::size_t n = 0; n < errors_.size(); ++n) errors_[n][cell[n]] += error;
  }

  // Per mode and row; with the cells that are not listed, whose part comes from the Gram matrices of the factors. Less
  // than 1e-12 of the model's slice is 0. Not finite where the model is too large to be squared.
  std::vector<std::vector<double>> finish(Executor& executor) &&;

 private:
  const CpdModel* model_;
  bool has_absent_;
  std::vector<std::vector<double>> errors_;
};

// Of each row a of a factor A, rows x rank: a (A^T A)^+ a^T, from 0 to 1, where the components of the mode depend on
// this row alone. They add up to the rank of A (Hoaglin and Welsch, The Hat Matrix, 1978). The same for any executor.
std::vector<double> leverages(const std::vector<double>& factor, int rank, Executor& executor);

}  // namespace blco
