// Finds order and signs first, then moves the numbers of each row.
#include "engine/model/arrange_components.hpp"

#include <algorithm>
#include <blco/model_summary.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/model/factor_columns.hpp"

namespace blco {
namespace {

using Signs = std::vector<std::uint8_t>;  // 1: the column changes its sign

// How a factor's columns look from afar.
struct Columns {
  explicit Columns(std::size_t rank) : dominant(rank), squares(rank) {}

  std::vector<double> dominant;
  std::vector<double> squares;
};

Columns describe_columns(std::span<const double> factor, std::size_t rank) {
  Columns columns(rank);
  for (std::size_t first = 0; first < factor.size(); first += rank) {
    for (std::size_t r = 0; r < rank; ++r) {
      const double value = factor[first + r];
      if (std::abs(value) > std::abs(columns.dominant[r])) columns.dominant[r] = value;
      columns.squares[r] += value * value;
    }
  }
  return columns;
}

bool may_flip(const CpdModel& model, std::size_t n) {
  return model.constraints.empty() || model.constraints[n].set == RowSet::all;
}

// Per mode and component, whether the column changes its sign.
std::vector<Signs> settle_signs(const CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  std::vector<Signs> flips;
  std::vector<double> least_share(rank, 2.0);
  std::vector<std::size_t> least_mode(rank);
  std::vector<std::size_t> negatives(rank);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    const Columns columns = describe_columns(model.factors[n], rank);
    Signs& flip = flips.emplace_back(rank);
    if (!may_flip(model, n)) continue;
    for (std::size_t r = 0; r < rank; ++r) {
      const double dominant = columns.dominant[r];
      flip[r] = dominant < 0 ? 1 : 0;
      negatives[r] += flip[r];
      const double share = dominant == 0 ? 0 : dominant * dominant / columns.squares[r];
      if (share <= least_share[r]) {
        least_share[r] = share;
        least_mode[r] = n;
      }
    }
  }
  for (std::size_t r = 0; r < rank; ++r) {
    if (negatives[r] % 2 == 1) flips[least_mode[r]][r] ^= 1;  // of a mode that may flip, because one has
  }
  return flips;
}

}  // namespace

void normalise_columns(CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    if (!model.constraints.empty() && model.constraints[n].is_held()) continue;
    std::vector<double>& factor = model.factors[n];
    const Columns columns = describe_columns(factor, rank);
    for (std::size_t at = 0; at < factor.size(); ++at) {
      const double squares = columns.squares[at % rank];
      if (squares > 0) factor[at] /= std::sqrt(squares);
    }
    for (std::size_t r = 0; r < rank; ++r) model.weights[r] *= std::sqrt(columns.squares[r]);
  }
}

void arrange_components(CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  const std::vector<double> sizes = component_weights(model);
  const std::vector<std::size_t> order = largest_places(rank, rank, [&](std::size_t r) { return sizes[r]; });
  const std::vector<Signs> flips = settle_signs(model);
  const std::vector<double> weights = model.weights;
  for (std::size_t r = 0; r < rank; ++r) model.weights[r] = weights[order[r]];
  std::vector<double> row(rank);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    std::vector<double>& factor = model.factors[n];
    for (std::size_t first = 0; first < factor.size(); first += rank) {
      std::copy_n(&factor[first], rank, row.begin());
      for (std::size_t r = 0; r < rank; ++r) {
        const double value = row[order[r]];
        // A difference, so that a zero does not become a negative one.
        factor[first + r] = flips[n][order[r]] != 0 ? 0 - value : value;
      }
    }
  }
}

}  // namespace blco
