// What a Tucker model in memory answers by itself, and its file.
#include <algorithm>
#include <array>
#include <blco/tucker_model.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/model/model_check.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {

const char* to_string(TuckerMethod method) {
  static constexpr std::array<const char*, 3> names = {"auto", "hooi", "hoqri"};
  return names.at(static_cast<std::size_t>(method));
}

// Multiplies the core by the cell's rows, one mode after the other from the last.
double TuckerModel::value(std::span<const std::uint64_t> cell) const {
  check_sizes(*this, "the model has no values");
  check_cell(shape, cell);
  std::vector<double> rest;
  const double* from = core.data();
  std::size_t size = core.size();
  for (std::size_t n = cell.size(); n-- > 0; from = rest.data()) {
    const auto rank = static_cast<std::size_t>(ranks[n]);
    const double* const row = factors[n].data() + static_cast<std::size_t>(cell[n]) * rank;
    size /= rank;
    if (rest.empty()) rest.resize(size);
    for (std::size_t i = 0; i < size; ++i) rest[i] = std::inner_product(row, row + rank, from + i * rank, 0.0);
  }
  return rest.front();
}

std::vector<CoreEntry> TuckerModel::top_of_core(std::size_t count) const {
  check_sizes(*this, "the model has no core");
  std::vector<CoreEntry> entries;
  for (const FactorEntry& largest : largest_of_column(core, 1, 0, count)) {
    CoreEntry entry{std::vector<std::uint64_t>(ranks.size()), largest.value};
    std::uint64_t place = largest.row;
    for (std::size_t n = ranks.size(); n-- > 0; place /= ranks[n]) entry.index[n] = place % ranks[n];
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<FactorEntry> TuckerModel::top(std::size_t mode, std::size_t column, std::size_t count) const {
  check_sizes(*this, "the model has no columns");
  if (mode >= factors.size() || column >= ranks[mode]) {
    refuse("column " + std::to_string(column) + " of mode " + std::to_string(mode) + " does not exist in the model");
  }
  return largest_of_column(factors[mode], static_cast<std::size_t>(ranks[mode]), column, count);
}

// Quotients, for products of ranks may exceed 64 bits.
std::string size_fault(const TuckerModel& model, bool has_core) {
  std::string fault = header_fault(model);
  if (fault.empty()) fault = factor_fault(model, model.ranks, model.factors);
  if (!fault.empty() || !has_core) return fault;
  std::uint64_t core = model.core.size();
  for (const std::uint64_t rank : model.ranks) core = core % rank == 0 ? core / rank : 0;
  return core == 1 ? "" : "the size of the core is not the product of the ranks";
}

void check_sizes(const TuckerModel& model, const std::string& failure) {
  if (const std::string fault = size_fault(model); !fault.empty()) refuse(failure + ": " + fault);
}

std::vector<std::vector<double>> principal_angles(const TuckerModel& first, const TuckerModel& second) {
  for (const TuckerModel* model : {&first, &second}) check_sizes(*model, "the models cannot be compared");
  if (first.shape != second.shape) {
    refuse("the models have the shapes " + shape_text(first.shape) + " and " + shape_text(second.shape) +
           ", so they cannot be compared");
  }
  std::vector<std::vector<double>> angles;
  for (std::size_t n = 0; n < first.shape.size(); ++n) {
    if (n < first.labels.size() && n < second.labels.size() && !first.labels[n].empty() && !second.labels[n].empty() &&
        first.labels[n].text() != second.labels[n].text()) {
      refuse("the models have other labels in mode " + std::to_string(n) + ", so they cannot be compared");
    }
    angles.push_back(principal_angles(first.factors[n], static_cast<int>(first.ranks[n]), second.factors[n],
                                      static_cast<int>(second.ranks[n])));
  }
  return angles;
}

ModelFile describe_model(const TuckerModel& model) {
  ModelFile file;
  file.header() = model.header();
  file.kind = ModelKind::tucker;
  file.ranks = model.ranks;
  return file;
}

void save(const TuckerModel& model, const std::filesystem::path& path) { save_claimed(model, path, nullptr); }

void save_claimed(const TuckerModel& model, const std::filesystem::path& path, const OutputClaim* claim) {
  check_sizes(model, "cannot save the model");
  write_model_file(path, describe_model(model), model.factors, model.core, claim);
}

TuckerModel load_tucker(const std::filesystem::path& path) {
  ModelFile file = read_model_file(path, ModelKind::tucker);
  TuckerModel model;
  model.ranks = std::move(file.ranks);
  model.core = std::move(file.core);
  model.factors = std::move(file.factors);
  model.header() = std::move(file.header());
  return model;
}

bool is_tucker(const std::filesystem::path& path) noexcept { return model_kind(path) == ModelKind::tucker; }

}  // namespace blco
