// Quadratic forms of rows, by Gram matrices.
#include "engine/report/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/losses.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/row_solver.hpp"

namespace blco {
namespace {

// The lower triangle of A^T A, row-major.
std::vector<double> gram_of(const std::vector<double>& factor, std::size_t rank, Executor& executor) {
  std::vector<double> gram(rank * rank);
  executor.run(rank, [&](std::size_t r) {
    double* const sums = gram.data() + r * rank;
    for (const double* row = factor.data(); row != factor.data() + factor.size(); row += rank) {
      for (std::size_t s = 0; s <= r; ++s) sums[s] += row[r] * row[s];
    }
  });
  return gram;
}

// a S a^T, for a symmetric S of which the lower triangle is read.
double quadratic_form(std::span<const double> matrix, const double* row, std::size_t rank) {
  double form = 0;
  for (std::size_t r = 0; r < rank; ++r) {
    double sum = 0;
    for (std::size_t s = 0; s < r; ++s) sum += matrix[r * rank + s] * row[s];
    form += row[r] * (2 * sum + matrix[r * rank + r] * row[r]);
  }
  return form;
}

// |L^-1 a|^2, for L with inverted diagonal.
double norm_of_solution(std::span<const double> lower, const double* row, std::size_t rank, std::vector<double>& y) {
  double norm = 0;
  for (std::size_t r = 0; r < rank; ++r) {
    double rest = row[r];
    for (std::size_t s = 0; s < r; ++s) rest -= lower[r * rank + s] * y[s];
    y[r] = rest * lower[r * rank + r];
    norm += y[r] * y[r];
  }
  return norm;
}

}  // namespace

bool RowErrors::are_defined(const CpdModel& model) { return scale_of(model.loss) == ModelScale::size; }

RowErrors::RowErrors(const CpdModel& model) : model_(&model), has_absent_(model.method != "complete") {
  for (const std::uint64_t length : model.shape) errors_.emplace_back(static_cast<std::size_t>(length));
}

std::vector<std::vector<double>> RowErrors::finish(Executor& executor) && {
  const auto rank = static_cast<std::size_t>(model_->rank);
  std::vector<std::vector<double>> grams;
  for (std::size_t n = 0; n < errors_.size() && has_absent_; ++n) {
    grams.push_back(gram_of(model_->factors[n], rank, executor));
  }
  for (std::size_t n = 0; n < grams.size(); ++n) {
    std::vector<double> others(rank * rank);
    for (std::size_t at = 0; at < others.size(); ++at) {
      others[at] = model_->weights[at / rank] * model_->weights[at % rank];
      for (std::size_t m = 0; m < grams.size(); ++m) others[at] *= m == n ? 1.0 : grams[m][at];
    }
    run_shares(executor, errors_[n].size(), [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        // Sums that cancel: less than this is their rounding.
        constexpr double rounding = 1e-12;
        const double form = quadratic_form(others, model_->factors[n].data() + i * rank, rank);
        double& error = errors_[n][i];
        error = error + form < rounding * form ? 0.0 : error + form;
      }
    });
  }
  return std::move(errors_);
}

std::vector<double> leverages(const std::vector<double>& factor, int rank, Executor& executor) {
  const auto columns = static_cast<std::size_t>(rank);
  // Columns of any length, each made one of length 1, so that none counts as zero beside another.
  std::vector<double> gram = gram_of(factor, columns, executor);
  std::vector<double> scale(columns);
  for (std::size_t r = 0; r < columns; ++r) {
    const double square = gram[r * columns + r];
    scale[r] = square > 0 ? 1 / std::sqrt(square) : 0;
  }
  for (std::size_t at = 0; at < gram.size(); ++at) gram[at] *= scale[at / columns] * scale[at % columns];
  const RowSolver solver(gram, rank);
  std::vector<double> found(factor.size() / columns);
  run_shares(executor, found.size(), [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> y(columns);
    std::vector<double> scaled(columns);
    for (std::uint64_t i = begin; i < end; ++i) {
      for (std::size_t r = 0; r < columns; ++r) scaled[r] = factor[i * columns + r] * scale[r];
      const double* const row = scaled.data();
      const double form = solver.is_cholesky() ? norm_of_solution(solver.lower(), row, columns, y)
                                               : quadratic_form(solver.matrix(), row, columns);
      found[i] = std::clamp(form, 0.0, 1.0);
    }
  });
  return found;
}

}  // namespace blco
