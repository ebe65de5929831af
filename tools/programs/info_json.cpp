// Tensors and models as JSON.
#include <blco/cpd_method.hpp>
#include <cmath>

#include "tools/programs/cancellation_words.hpp"
#include "tools/programs/info.hpp"

namespace blco::info {
namespace {

using cli::Json;

Json column_json(const TensorColumn& column) {
  return {{"stored_bytes", column.stored_bytes}, {"streamed_bytes", column.streamed_bytes}};
}

Json values_json(const ValueStatistics& values) {
  Json buckets = Json::array();
  for (const ValueBucket& bucket : values.histogram) {
    buckets.push_back({{"lower", bucket.lower}, {"upper", bucket.upper}, {"count", bucket.count}});
  }
  return {{"min", values.minimum},       {"max", values.maximum},
          {"mean", values.mean},         {"whole_numbers", values.whole_numbers},
          {"distinct", values.distinct}, {"more_distinct", values.more_distinct},
          {"histogram", buckets}};
}

Json slices_json(const SliceStatistics& mode) {
  Json buckets = Json::array();
  for (const SliceBucket& bucket : mode.histogram) {
    buckets.push_back({{"min", bucket.min}, {"max", bucket.max}, {"slices", bucket.slices}});
  }
  return {{"slices", mode.slices}, {"empty", mode.empty},   {"min", mode.minimum}, {"max", mode.maximum},
          {"mean", mode.mean},     {"median", mode.median}, {"histogram", buckets}};
}

Json component_json(const ComponentSummary& component, const CoordinateNames& names) {
  Json modes = Json::array();
  for (std::size_t n = 0; n < component.modes.size(); ++n) {
    Json largest = Json::array();
    for (const FactorEntry& entry : component.modes[n].largest) {
      largest.push_back({{"row", entry.row}, {"name", names.name(n, entry.row)}, {"value", entry.value}});
    }
    modes.push_back({{"sparsity", component.modes[n].sparsity}, {"largest", largest}});
  }
  return {
      {"component", component.component}, {"weight", component.weight}, {"share", component.share}, {"modes", modes}};
}

}  // namespace

Json tensor_json(const std::filesystem::path& path, const TensorSummary& summary,
                 const std::optional<TensorStatistics>& statistics) {
  Json json = {{"type", "tensor"},
               {"file", path.string()},
               {"shape", summary.shape},
               {"mode_names", summary.mode_names},
               {"value_name", summary.value_name},
               {"relabelled_modes", summary.relabelled_modes},
               {"label_bytes", summary.label_bytes},
               {"nonzeros", summary.nnz},
               {"density", density(summary)},
               {"norm", std::sqrt(summary.sum_of_squares)},
               {"line_bits", summary.line_bits},
               {"chunks", summary.chunk_count},
               {"chunk_nonzeros", summary.chunk_nnz},
               {"file_bytes", summary.file_bytes},
               {"bytes_per_nonzero", bytes_per_nonzero(summary)},
               {"index", column_json(summary.index)},
               {"key", column_json(summary.key)},
               {"value", column_json(summary.value)}};
  if (statistics) {
    json["values"] = values_json(statistics->values);
    json["slices"] = Json::array();
    for (const SliceStatistics& mode : statistics->modes) json["slices"].push_back(slices_json(mode));
  }
  return json;
}

std::vector<std::string> constraint_words(const CpdModel& model) {
  std::vector<std::string> words;
  for (const RowConstraint& constraint : model.constraints) words.push_back(to_string(constraint));
  return words;
}

Json model_json(const std::filesystem::path& path, const CpdModel& model,
                const std::vector<ComponentSummary>& components, const CoordinateNames& names) {
  Json json = {{"type", "model"},
               {"file", path.string()},
               {"shape", model.shape},
               {"mode_names", model.mode_names},
               {"rank", model.rank},
               {"method", model.method},
               {"loss", to_string(model.loss)},
               {"constraints", constraint_words(model)},
               {"fit", model.method == "als" ? Json(model.fit()) : Json()},
               {"fit_history", model.fit_history},
               {"objective_history", model.objective_history},
               {"sweeps", model.sweeps()},
               {"stop_reason", to_string(model.stop_reason)},
               {"seed", model.seed},
               {"precision", to_string(model.precision)},
               {"ridge", model.ridge},
               {"cancellation", cli::cancellation_json(find_cancellation(model))},
               {"components", Json::array()}};
  for (const ComponentSummary& component : components) json["components"].push_back(component_json(component, names));
  return json;
}

Json verified_json(const std::filesystem::path& path, const VerifiedTensor& verified) {
  return {{"type", "verified"},
          {"file", path.string()},
          {"chunks", verified.chunks},
          {"nonzeros", verified.nonzeros},
          {"bytes", verified.stored_bytes}};
}

Json verified_json(const std::filesystem::path& path, const CpdModel& model) {
  return {{"type", "verified"}, {"file", path.string()}, {"rank", model.rank}, {"sweeps", model.sweeps()}};
}

}  // namespace blco::info
