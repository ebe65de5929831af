// Summarises a model: its components by weight, and the largest entries of each.
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
  double sparsity = 0;               // share of small entries, 0 to 1
  std::vector<FactorEntry> largest;  // by falling magnitude, then rising row; zeros left out
};

struct ComponentSummary {
  int component = 0;  // column in the model, from 0
  double weight = 0;
  double share = 0;  // |weight| over the sum of all |weight|; 0 if that sum is 0
  std::vector<ColumnSummary> modes;
};

struct SummaryOptions {
  std::size_t components = 10;  // number returned
  std::size_t entries = 3;      // number of largest entries per column
  double small = 1e-3;          // an entry is small if it is 0 or below this part of its column's largest magnitude
};

// Returns the components of largest weight, by falling weight, ties by rising number.
std::vector<ComponentSummary> summarize_components(const CpdModel& model, const SummaryOptions& options = {});

}  // namespace blco
