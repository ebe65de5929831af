// Converts a model between memory and its file.
#include <blco/model.hpp>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "blco/refuse.hpp"
#include "engine/model/model_check.hpp"

namespace blco {

std::vector<MatrixView> CpdModel::matrices() const {
  check_sizes(*this, "the model has no matrices");
  std::vector<MatrixView> views;
  const auto columns = static_cast<std::size_t>(rank);
  for (std::size_t n = 0; n < factors.size(); ++n)
    views.push_back({factors[n].data(), factors[n].size() / columns, columns});
  return views;
}

void check_cell(const std::vector<std::uint64_t>& shape, std::span<const std::uint64_t> cell) {
  if (cell.size() != shape.size()) {
    refuse("the cell has " + std::to_string(cell.size()) + " indices, but the model has " +
           std::to_string(shape.size()) + " modes");
  }
  for (std::size_t n = 0; n < cell.size(); ++n) {
    if (cell[n] >= shape[n]) {
      refuse("index " + std::to_string(cell[n]) + " of mode " + std::to_string(n) + " does not exist: the mode has " +
             std::to_string(shape[n]) + ", counted from 0");
    }
  }
}

double CpdModel::value(std::span<const std::uint64_t> cell) const {
  check_sizes(*this, "the model has no values");
  check_cell(shape, cell);
  std::vector<double> terms = weights;
  for (std::size_t n = 0; n < cell.size(); ++n) {
    const double* const row = factors[n].data() + static_cast<std::size_t>(cell[n]) * terms.size();
    for (std::size_t r = 0; r < terms.size(); ++r) terms[r] *= row[r];
  }
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

ModelFile describe_model(const CpdModel& model) {
  ModelFile file;
  file.header() = model.header();
  file.rank = static_cast<std::uint64_t>(model.rank);
  file.weights = model.weights;
  return file;
}

void save(const CpdModel& model, const std::filesystem::path& path) { save_claimed(model, path, nullptr); }

void save_claimed(const CpdModel& model, const std::filesystem::path& path, const OutputClaim* claim) {
  check_sizes(model, "cannot save the model");
  write_model_file(path, describe_model(model), model.factors, {}, claim);
}

CpdModel without_factors(const ModelFile& file) {
  CpdModel model;
  model.header() = file.header();
  model.rank = static_cast<int>(file.rank);
  model.weights = file.weights;
  return model;
}

CpdModel load_model(const std::filesystem::path& path) {
  ModelFile file = read_model_file(path);
  CpdModel model;
  model.rank = static_cast<int>(file.rank);
  model.weights = std::move(file.weights);
  model.factors = std::move(file.factors);
  model.header() = std::move(file.header());
  return model;
}

bool is_model(const std::filesystem::path& path) noexcept { return model_kind(path) == ModelKind::cp; }

std::string size_fault(const CpdModel& model) {
  if (model.rank < 1 || model.weights.size() != static_cast<std::size_t>(model.rank))
    return "it does not have one weight per component";
  const std::vector<std::uint64_t> columns(model.shape.size(), static_cast<std::uint64_t>(model.rank));
  const std::string fault = header_fault(model);
  return fault.empty() ? factor_fault(model, columns, model.factors) : fault;
}

void check_sizes(const CpdModel& model, const std::string& failure) {
  if (const std::string fault = size_fault(model); !fault.empty()) refuse(failure + ": " + fault);
}

}  // namespace blco
