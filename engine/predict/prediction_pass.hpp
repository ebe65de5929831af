// Reads entries once, evaluates the model at each, and passes on blocks of them.
#pragma once

#include <blco/predict.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/predict/model_values.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

struct PredictionJob {
  const CpdModel* model = nullptr;
  CoordinateReader* reader = nullptr;   // a coordinate beyond the model's shape is an unknown one
  std::vector<std::string> mode_names;  // one per mode
  std::string model_name;
  bool is_table = false;  // whose columns may be read in several ways
  Loss loss;
  bool has_values = true;
  bool skip_unknown = false;
  std::uint64_t top = 0;  // 0: all
  int index_base = 1;
  std::size_t block_entries = 0;
};

// Throws as predict() says. Memory: prediction_bytes(), and WorstEntries of `top`.
PredictSummary run_prediction(const PredictionJob& job, const PredictionSink& sink, Executor& executor,
                              ProgressMeter& meter);

// Of one block, per entry.
constexpr std::uint64_t prediction_bytes(std::size_t order) { return (order + 3) * sizeof(double); }

}  // namespace blco
