// What a Tucker model in memory answers by itself, and its file.
#include <algorithm>
#include <blco/tucker.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "engine/model/model_check.hpp"
#include "engine/model/tucker_conversion.hpp"

namespace blco {

// Multiplies the core by the cell's rows, one mode after the other from the last.
double TuckerModel::value(std::span<const std::uint64_t> cell) const {
  check_cell(shape, cell);
  std::vector<double> rest = core;
  for (std::size_t n = cell.size(); n-- > 0;) {
    const auto rank = static_cast<std::size_t>(ranks[n]);
    const double* const row = factors[n].data() + static_cast<std::size_t>(cell[n]) * rank;
    for (std::size_t i = 0; i < rest.size() / rank; ++i) {
      rest[i] = std::inner_product(row, row + rank, rest.data() + i * rank, 0.0);
    }
    rest.resize(rest.size() / rank);
  }
  return rest.front();
}

std::vector<CoreEntry> TuckerModel::top_of_core(std::size_t count) const {
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
  if (mode >= factors.size() || column >= ranks[mode]) {
    refuse("column " + std::to_string(column) + " of mode " + std::to_string(mode) + " does not exist in the model");
  }
  return largest_of_column(factors[mode], static_cast<std::size_t>(ranks[mode]), column, count);
}

TuckerFile to_file(TuckerModel model) {
  return {.shape = std::move(model.shape),
          .ranks = std::move(model.ranks),
          .core = std::move(model.core),
          .factors = std::move(model.factors),
          .method = to_string(model.method),
          .fit_history = std::move(model.fit_history),
          .mode_names = std::move(model.mode_names),
          .labels = std::move(model.labels),
          .seed = model.seed,
          .stop_reason = to_string(model.stop_reason),
          .tensor_nnz = model.tensor_nnz,
          .tensor_sum_of_squares = model.tensor_sum_of_squares};
}

TuckerModel to_model(TuckerFile file) {
  TuckerModel model;
  model.shape = std::move(file.shape);
  model.ranks = std::move(file.ranks);
  model.core = std::move(file.core);
  model.factors = std::move(file.factors);
  model.method = file.method == to_string(TuckerMethod::hoqri) ? TuckerMethod::hoqri : TuckerMethod::hooi;
  model.fit_history = std::move(file.fit_history);
  model.mode_names = std::move(file.mode_names);
  model.labels = std::move(file.labels);
  model.seed = file.seed;
  model.stop_reason = parse_stop_reason(file.stop_reason);
  model.tensor_nnz = file.tensor_nnz;
  model.tensor_sum_of_squares = file.tensor_sum_of_squares;
  return model;
}

void save(const TuckerModel& model, const std::filesystem::path& path, const OutputClaims* claims) {
  write_tucker_file(path, to_file(model), claims == nullptr ? nullptr : claims->find(path));
}

TuckerModel load_tucker(const std::filesystem::path& path) { return to_model(read_tucker_file(path)); }

bool is_tucker(const std::filesystem::path& path) noexcept { return is_tucker_file(path); }

}  // namespace blco
