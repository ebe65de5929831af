#include "engine/fit/check_options.hpp"

#include <algorithm>
#include <blco/option_table.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/methods/fit_method.hpp"

namespace blco {
namespace {

bool takes_any_start(const CpdMethod& method) {
  return traits_of(method).takes_any_start &&
         std::ranges::none_of(constraints_of(method), [](const RowConstraint& constraint) {
           return constraint.set == RowSet::nonnegative || constraint.set == RowSet::simplex;
         });
}

}  // namespace

void check_rank(int rank) {
  if (rank < 1 || rank > max_rank) {
    refuse(option_name("rank") + " must be from 1 to " + std::to_string(max_rank) + ", not " + std::to_string(rank));
  }
}

int check_factors(const TensorSummary& tensor, std::span<const MatrixView> factors, int mode) {
  const std::size_t order = tensor.shape.size();
  if (factors.size() != order) {
    refuse("there are " + std::to_string(factors.size()) + " factors; give one per mode, " + std::to_string(order) +
           " in all");
  }
  const bool lacks_first = mode == 0 && order > 1 && factors[0].columns == 0;
  const std::size_t rank = factors[lacks_first ? 1 : 0].columns;
  for (std::size_t n = 0; n < order; ++n) {
    const MatrixView& factor = factors[n];
    const bool is_left_out = static_cast<int>(n) == mode;
    if (is_left_out && (factor.columns == rank || factor.columns == 0)) continue;
    if (is_left_out || factor.rows != tensor.shape[n] || factor.columns != rank) {
      refuse("factor " + std::to_string(n) + " is a matrix of " + std::to_string(factor.rows) + " x " +
             std::to_string(factor.columns) + ", but mode and rank ask for " + std::to_string(tensor.shape[n]) + " x " +
             std::to_string(rank));
    }
    const std::span<const double> numbers = factor.numbers();
    if (!numbers.empty() && factor.data == nullptr) refuse("factor " + std::to_string(n) + " is null");
    if (!is_left_out && !std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); }))
      refuse("factor " + std::to_string(n) + " has a number that is not finite");
  }
  return static_cast<int>(std::min<std::size_t>(rank, std::numeric_limits<int>::max()));
}

void check_end(int max_sweeps, double tolerance, double time_limit_seconds) {
  if (max_sweeps < 1) refuse(option_name("max_sweeps") + " must be at least 1");
  if (!(tolerance >= 0)) refuse(option_name("tolerance") + " must be at least 0");
  if (!(time_limit_seconds >= 0)) refuse(option_name("time_limit_seconds") + " must be at least 0");
}

void check_options(const TensorSummary& tensor, const CpdOptions& options) {
  check_rank(options.rank);
  check_ranges(options);
  if (options.start == Start::nvecs && !std::holds_alternative<AlsMethod>(options.method)) {
    refuse(option_name("start", "nvecs") +
           " goes with the method als only, which minimises squares over all cells, as these vectors do; leave it out");
  }
  if ((options.start == Start::centered || options.start == Start::normal) && !takes_any_start(options.method)) {
    refuse(option_name("start") +
           " takes other starts than uniform with the methods complete and als only, and there " +
           "without modes that are nonnegative or on the simplex; leave it out");
  }
  check_method(tensor, options);
  if (options.initial != nullptr) check_initial_model(tensor, options);
}

}  // namespace blco
