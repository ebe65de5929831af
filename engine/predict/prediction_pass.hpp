// Reads entries once, evaluates the model at each, and passes on blocks of them.
#pragma once

#include <blco/predict.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/ingest/sort/external_sort.hpp"
#include "engine/predict/model_values.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

struct PredictionJob {
  const CpdModel* model = nullptr;
  const TuckerModel* tucker = nullptr;  // if set, has the values, and `model` only shape, names and labels
  CoordinateReader* reader = nullptr;   // a coordinate beyond the model's shape is an unknown one
  std::vector<std::string> mode_names;  // one per mode
  std::string model_name;
  bool is_table = false;  // whose columns may be read in several ways
  Loss loss;
  int value_exponent = 0;  // of deviance()
  bool has_values = true;
  bool skip_unknown = false;
  std::uint64_t top = 0;  // 0: all
  int index_base = 1;
  std::size_t block_entries = 0;
  std::optional<DuplicatePolicy> fold;  // what makes one entry of those with equal coordinates; nothing: each stays
  SortSetup sort = {};                  // for that
};

// Throws as predict() says. Memory: prediction_bytes(), and WorstEntries of `top`.
PredictSummary run_prediction(const PredictionJob& job, const PredictionSink& sink, Executor& executor,
                              ProgressMeter& meter);

// Of one block, per entry; where entries are folded, twice their coordinates and values.
constexpr std::uint64_t prediction_bytes(std::size_t order) { return (3 * order + 5) * sizeof(double); }

}  // namespace blco
