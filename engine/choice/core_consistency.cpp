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

using Matrices = std::vector<std::vector<double>>;

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

// Makes the matrices (A_n^+)^T of each mode, of the size of A_n.
void load_inverses(const CpdModel& model, Executor& executor, SharedMatrices& matrices) {
  const Matrices scales = column_scales(model);
  for (std::size_t n = 0; n < scales.size(); ++n) {
    std::vector<double> factor = model.factors[n];
    for (std::size_t i = 0; i < factor.size(); ++i) factor[i] *= scales[n][i % scales[n].size()];
    invert_tall(factor, model.rank, executor);
    matrices.load(n, 0, factor);
  }
}

// The sum of (g - t)^2 over the core, g, and the superdiagonal one, t.
double distance(const CpdModel& model, std::size_t short_mode, ColumnSlabs& slabs) {
  const auto columns = static_cast<std::uint64_t>(model.rank);
  const std::uint64_t slab = slabs.slab();
  const std::uint64_t choices = slabs.choices().count(short_mode);
  double sum = 0;
  for (std::uint64_t first = 0; first < choices; first += slab) {
    slabs.pass(short_mode, first);
    const std::vector<double> core = slabs.matrices().project_output(short_mode);
    const std::uint64_t count = std::min(slab, choices - first);
    for (std::uint64_t r = 0; r < columns; ++r) {
      for (std::uint64_t c = 0; c < count; ++c) {
        bool diagonal = true;
        for (std::size_t n = 0; n < model.factors.size(); ++n) {
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
  for (const std::vector<double>& factor : model.factors) numbers += factor.size();
  const auto rank = static_cast<std::uint64_t>(model.rank);
  const std::uint64_t longest = std::ranges::max(model.shape);
  SlabJob job(
      tensor, fixed, columns, rank,
      [&](std::uint64_t) {
        SlabMemory memory;
        memory.caller.take("labels", memory_bytes(model.labels));
        memory.caller.take("the model", numbers * sizeof(double));
        memory.caller.take("an inverse", longest * rank * sizeof(double) + tall_scratch_bytes(longest, rank));
        memory.matrices.columns.assign(model.shape.size(), rank);
        memory.matrices.unfolding.assign(model.shape.size(), 0);
        return memory;
      },
      [&meter] { return meter.poll(); });
  ColumnSlabs slabs(tensor, *job.job, meter);
  load_inverses(model, job.job->pool(), slabs.matrices());
  const std::uint64_t passes = (columns + job.slab - 1) / job.slab;
  meter.begin({.name = "core", .nonzeros = tensor.summary().nnz * passes});
  const double sum = distance(model, short_mode, slabs);
  meter.report_end();
  return 100 * (1 - sum / static_cast<double>(model.rank));
}

}  // namespace blco
