// What a person looks at first in a model: the components by weight, and the largest entries of each.
#pragma once

#include <blco/model.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blco {

struct FactorEntry {
  std::uint64_t row = 0;  // the coordinate, from 0
  double value = 0;
};

// One column of one factor.
struct ColumnSummary {
  double sparsity = 0;               // share of entries that are small, 0 to 1
  std::vector<FactorEntry> largest;  // by falling magnitude, then rising row; none that are zero
};

struct ComponentSummary {
  int component = 0;  // its column, from 0
  double weight = 0;
  double share = 0;  // of the sum of the absolute weights; 0 where that is 0
  std::vector<ColumnSummary> modes;
};

struct SummaryOptions {
  std::size_t components = 10;
  std::size_t entries = 3;
  double small = 1e-3;  // an entry is small if it is 0 or below this part of its column's largest, in magnitude
};

// The components of largest weight, by falling weight and then rising number.
std::vector<ComponentSummary> summarize_components(const CpdModel& model, const SummaryOptions& options = {});

}  // namespace blco
