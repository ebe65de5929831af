// Converts a model between memory and its file.
#include <array>
#include <blco/model.hpp>
#include <string_view>

#include "engine/fit/model_description.hpp"

namespace blco {
namespace {

constexpr std::array stop_reasons = {StopReason::tolerance, StopReason::sweeps, StopReason::cancelled, StopReason::time,
                                     StopReason::unfinished};

StopReason parse_stop_reason(std::string_view text) {
  for (const StopReason reason : stop_reasons) {
    if (text == to_string(reason)) return reason;
  }
  return StopReason::sweeps;
}

Precision parse_precision(std::string_view text) {
  for (const Precision precision : {Precision::f32, Precision::mixed}) {
    if (text == to_string(precision)) return precision;
  }
  return Precision::f64;
}

}  // namespace

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::tolerance:
      return "tolerance";
    case StopReason::sweeps:
      return "sweeps";
    case StopReason::cancelled:
      return "cancelled";
    case StopReason::time:
      return "time";
    case StopReason::unfinished:
      return "unfinished";
  }
  return "sweeps";
}

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::f64:
      return "f64";
    case Precision::f32:
      return "f32";
    case Precision::mixed:
      return "mixed";
  }
  return "f64";
}

ModelFile describe_model(const CpdModel& model) {
  ModelFile file;
  file.shape = model.shape;
  file.rank = static_cast<std::uint64_t>(model.rank);
  file.weights = model.weights;
  file.fit_history = model.fit_history;
  file.mode_names = model.mode_names;
  file.labels = model.labels;
  file.fit = model.fit();
  file.sweeps = model.fit_history.size();
  file.seed = model.seed;
  file.precision = to_string(model.precision);
  file.ridge = model.ridge;
  file.stop_reason = to_string(model.stop_reason);
  file.tensor_nnz = model.tensor_nnz;
  file.tensor_sum_of_squares = model.tensor_sum_of_squares;
  return file;
}

void save(const CpdModel& model, const std::filesystem::path& path) {
  write_model_file(path, describe_model(model), model.factors);
}

CpdModel load_model(const std::filesystem::path& path) {
  ModelFile file = read_model_file(path);
  CpdModel model;
  model.shape = std::move(file.shape);
  model.rank = static_cast<int>(file.rank);
  model.weights = std::move(file.weights);
  model.factors = std::move(file.factors);
  model.fit_history = std::move(file.fit_history);
  model.mode_names = std::move(file.mode_names);
  model.labels = std::move(file.labels);
  model.seed = file.seed;
  model.precision = parse_precision(file.precision);
  model.ridge = file.ridge;
  model.tensor_nnz = file.tensor_nnz;
  model.tensor_sum_of_squares = file.tensor_sum_of_squares;
  model.stop_reason = parse_stop_reason(file.stop_reason);
  return model;
}

bool is_model(const std::filesystem::path& path) noexcept { return is_model_file(path); }

}  // namespace blco
