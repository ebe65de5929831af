// Computes the core a slab of columns at a time, and adds up how far it is from the superdiagonal one.
#include <algorithm>
#include <blco/core_consistency.hpp>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/fit/column_slabs.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/model/factor_columns.hpp"
#include "engine/model/model_check.hpp"
#include "engine/work/job.hpp"
#include "engine/work/original_rows.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/losses.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

using Matrices = ColumnSlabs::Matrices;

void check_shapes(const TensorSummary& tensor, const CpdModel& model) {
  if (model.shape != tensor.shape) refuse("core consistency: the model is not one of a tensor of this shape");
  check_sizes(model, "core consistency");
}

// Per mode, what each of the factor's columns is multiplied by. The columns of a component then have the same norm, and
// their product is the component, with its weight.
Matrices column_scales(const CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  const auto order = static_cast<double>(model.factors.size());
  Matrices scales(model.factors.size(), std::vector<double>(rank));
  Matrices squares;
  for (const std::vector<double>& factor : model.factors) squares.push_back(column_squares(factor, rank));
  for (std::size_t r = 0; r < rank; ++r) {
    std::vector<double> norms;
    double share = std::pow(std::abs(model.weights[r]), 1 / order);
    for (const std::vector<double>& of_mode : squares) {
      norms.push_back(std::sqrt(of_mode[r]));
      share *= std::pow(norms.back(), 1 / order);
    }
    for (std::size_t n = 0; n < norms.size(); ++n) scales[n][r] = norms[n] > 0 ? share / norms[n] : 0;
    if (model.weights[r] < 0) scales[0][r] = -scales[0][r];
  }
  return scales;
}

// (A_n^+)^T of each mode, of the size of A_n.
Matrices invert_factors(const CpdModel& model, Executor& executor) {
  Matrices inverted = model.factors;
  const Matrices scales = column_scales(model);
  for (std::size_t n = 0; n < inverted.size(); ++n) {
    std::vector<double>& factor = inverted[n];
    for (std::size_t i = 0; i < factor.size(); ++i) factor[i] *= scales[n][i % scales[n].size()];
    invert_tall(factor, model.rank, executor);
  }
  return inverted;
}

// The sum of (g - t)^2 over the core, g, and the superdiagonal one, t.
double distance(const Matrices& inverted, int rank, std::size_t short_mode, ColumnSlabs& slabs, Executor& executor) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::uint64_t slab = slabs.slab();
  const std::uint64_t choices = slabs.choices().count(short_mode);
  std::vector<double> core;
  double sum = 0;
  for (std::uint64_t first = 0; first < choices; first += slab) {
    multiply_transposed(inverted[short_mode], columns, slabs.pass(short_mode, first), core, executor);
    const std::uint64_t count = std::min(slab, choices - first);
    for (std::uint64_t r = 0; r < columns; ++r) {
      for (std::uint64_t c = 0; c < count; ++c) {
        bool diagonal = true;
        for (std::size_t n = 0; n < inverted.size(); ++n) {
          diagonal = diagonal && (n == short_mode || slabs.choices().column(short_mode, first + c, n) == r);
        }
        const double difference = core[r * slab + c] - (diagonal ? 1.0 : 0.0);
        sum += difference * difference;
      }
    }
  }
  return sum;
}

}  // namespace

bool has_core_consistency(const CpdMethod& method) {
  return traits_of(method).counts_absent_cells && scale_of(loss_of(method)) == ModelScale::size;
}

std::uint64_t core_columns(std::size_t order, int rank) {
  if (rank > max_core_rank) return max_core_columns + 1;
  std::uint64_t columns = 1;
  for (std::size_t n = 1; n < order && columns <= max_core_columns; ++n) columns *= static_cast<std::uint64_t>(rank);
  return columns;
}

std::optional<double> core_consistency(const Tensor& tensor, const CpdModel& model, const Compute& compute,
                                       const ProgressCallback& progress, double time_limit_seconds) {
  check_shapes(tensor.summary(), model);
  if (!(time_limit_seconds >= 0)) refuse(option_name("time_limit_seconds") + " must be at least 0");
  const std::uint64_t columns = core_columns(model.shape.size(), model.rank);
  if (columns > max_core_columns) return std::nullopt;
  Compute fixed = compute;
  fixed.precision = Precision::f64;
  fixed.trace.clear();
  const auto short_mode = static_cast<std::size_t>(std::ranges::min_element(model.shape) - model.shape.begin());
  ProgressMeter meter(progress, time_limit_seconds);
  std::uint64_t numbers = 0;
  for (const std::vector<double>& factor : model.factors) numbers += 2 * factor.size();
  const auto rank = static_cast<std::uint64_t>(model.rank);
  const std::uint64_t scratch = tall_scratch_bytes(std::ranges::max(model.shape), rank);
  SlabJob job(
      tensor, fixed, columns, rank,
      [&](std::uint64_t slab) {
        Account memory;
        memory.take("labels", memory_bytes(model.labels));
        memory.take("the model and its inverses", numbers * sizeof(double));
        memory.take("a slab of the core", scratch + model.shape[short_mode] * slab * sizeof(double));
        return memory;
      },
      [&meter] { return meter.poll(); });
  const Matrices inverted = invert_factors(model, job.job->pool());
  ColumnSlabs slabs(tensor, inverted, std::vector<int>(inverted.size(), model.rank), *job.job, job.slab, meter);
  const std::uint64_t passes = (columns + job.slab - 1) / job.slab;
  meter.begin({.name = "core", .nonzeros = tensor.summary().nnz * passes});
  const double sum = distance(inverted, model.rank, short_mode, slabs, job.job->pool());
  meter.report_end();
  return 100 * (1 - sum / static_cast<double>(model.rank));
}

}  // namespace blco
