// Summarises a model: its components by weight, the largest entries of each, and components that cancel each other.
#pragma once

#include <blco/model.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace blco {

// One column of one factor.
struct ColumnSummary {
  double sparsity = 0;               // share of small entries, 0 to 1
  std::vector<FactorEntry> largest;  // by falling magnitude, then rising row; zeros left out
};

struct ComponentSummary {
  int component = 0;  // column in the model, from 0
  double weight = 0;  // as component_weights() gives it
  double share = 0;   // |weight| over the sum of all |weight|; 0 if that sum is 0
  std::vector<ColumnSummary> modes;
};

struct SummaryOptions {
  std::size_t components = 10;  // number returned
  std::size_t entries = 3;      // number of largest entries per column
  double small = 1e-3;          // an entry is small if it is 0 or below this part of its column's largest magnitude
};

// R: the 2-norm of each component, with the weight's sign: the weight times the 2-norms of the component's columns,
// which are not 1 where a constraint keeps their scale, and in models of given factors.
std::vector<double> component_weights(const CpdModel& model);

// Returns the components of largest weight, by falling weight, ties by rising number.
std::vector<ComponentSummary> summarize_components(const CpdModel& model, const SummaryOptions& options = {});

// Components that are far larger than the tensor, and so cancel each other: each means little by itself. A tensor may
// have no best model of its rank; the components then grow without limit as the fit gets better (Kolda & Bader 2009,
// section 3.3).
struct Cancellation {
  double excess = 0;  // 2-norm of the largest component over that of the tensor
  // The pair of components that cancels most, numbered like ComponentSummary::component.
  int first = 0;
  int second = 0;
  double congruence = 0;  // of the pair: the product over the modes of their columns' cosines, -1 to 0
};

// Finds cancellation where a component has over 3 times the tensor's norm. Compares those components that are larger
// than the tensor, at most the 64 largest, so that it takes 64^2 products per row of the factors at most. Returns
// nothing if no pair has a congruence of -0.05 or below, if the model does not tell the tensor's norm, or if the two
// norms say nothing of each other: the model has logarithms or odds, or takes cells that are not listed as unknown.
std::optional<Cancellation> find_cancellation(const CpdModel& model);

}  // namespace blco
