// Random models, and their values by a plain loop in extended precision.
#pragma once

#include <blco/predict.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace blco {

inline CpdModel model_to_predict(const std::vector<std::uint64_t>& shape, int rank, std::uint64_t seed,
                                 bool is_positive = false) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(is_positive ? 0.1 : -1.0, 1.0);
  CpdModel model;
  model.shape = shape;
  model.rank = rank;
  for (int r = 0; r < rank; ++r) model.weights.push_back(1 + unit(random));
  for (const std::uint64_t length : shape) {
    std::vector<double>& factor = model.factors.emplace_back();
    for (std::uint64_t i = 0; i < length * static_cast<std::uint64_t>(rank); ++i) factor.push_back(unit(random));
    model.mode_names.push_back("m" + std::to_string(model.mode_names.size()));
  }
  return model;
}

inline double value_by_loop(const CpdModel& model, const std::vector<std::uint64_t>& point) {
  const auto rank = static_cast<std::size_t>(model.rank);
  long double sum = 0;
  for (std::size_t r = 0; r < rank; ++r) {
    long double product = model.weights[r];
    for (std::size_t n = 0; n < point.size(); ++n) product *= model.factors[n][point[n] * rank + r];
    sum += product;
  }
  return static_cast<double>(sum);
}

// All that a sink has received.
struct CollectedPredictions {
  std::vector<std::vector<std::uint64_t>> points;
  std::vector<double> values;
  std::vector<double> model;
  std::vector<double> deviances;

  PredictionSink sink() {
    return [this](const PredictionBlock& block) {
      const auto order = static_cast<std::size_t>(block.order);
      for (std::size_t i = 0; i < block.model.size(); ++i) {
        const auto point = block.coordinates.subspan(i * order, order);
        points.emplace_back(point.begin(), point.end());
      }
      values.insert(values.end(), block.values.begin(), block.values.end());
      model.insert(model.end(), block.model.begin(), block.model.end());
      deviances.insert(deviances.end(), block.deviances.begin(), block.deviances.end());
    };
  }
};

}  // namespace blco
