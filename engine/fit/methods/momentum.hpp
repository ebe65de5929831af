// Momentum between the sweeps of a method: each sweep starts ahead of the model, on the line from the one before it.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"

namespace blco {

// Whether the method is one that goes well with momentum, and each mode is free or nonnegative.
bool takes_momentum(const CpdMethod& method);
// Whether a checkpoint is of a fit with momentum.
bool is_with_momentum(const ModelFile& checkpoint);

// Nesterov's extrapolation of all factors with restarts (Mitchell, Ye & De Sterck, Nesterov Acceleration of Alternating
// Least Squares for Canonical Tensor Decomposition, Numer. Linear Algebra Appl. 2020). Let x_k be the factors after
// sweep k with the weights spread evenly over the modes. The next sweep starts from x_k + b (x_k - x_(k-1)) with
// b = min(0.95, s / (s + 3)), where s counts the sweeps since momentum began. Where it ends with a larger objective
// than that of x_k, a restart: the model is x_k again, and plain sweeps from there come next. Momentum begins, and
// begins again, after a plain sweep that gains less than a fiftieth of what the model has gained over one of zeros:
// while sweeps still take large steps, those ahead may lead into another basin.
//
// Beside the method, one vector of the backend with all modes, the last one, has the factors of the model before.
class Momentum final : public FitMethod {
 public:
  // Of a method that normalises columns, and has no state of its own.
  Momentum(const FitContext& context, std::unique_ptr<FitMethod> method, std::size_t vector);

  // Adds what this needs to what its method does.
  static void add_needs(const TensorSummary& tensor, MethodNeeds& needs);

  void start(std::span<const double> weights) override { method_->start(weights); }
  void run_step(SweepReport& report) override;
  std::optional<double> first_objective() const override { return method_->first_objective(); }
  void undo_step() override;
  // True once the fit has changed little. While steps are short: by one sweep, after a restart by a tenth as much.
  // Later: by two sweeps in a row, of which the last changed it no more; after a restart not before the fifth sweep
  // since momentum began again. At any time: by ten sweeps together.
  bool has_converged(const ModelHeader& so_far, const SweepReport* report) const override;
  const std::vector<double>& weights() const override { return method_->weights(); }

  // The sweeps since it began, the objective, and the model before.
  MethodState state() const override;
  void store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void restore(ResumedState& state) override;

 private:
  void keep_model();
  void go_ahead(double step);
  void return_to_model();

  FitContext context_;
  std::unique_ptr<FitMethod> method_;
  int vector_;
  std::vector<double> previous_weights_;  // with the factors in the vector
  double sweeps_ = 0;                     // since it began; 0: sweeps are plain
  bool is_restored_ = false;
  // Of the model: what the method minimises, and the two numbers that are reported.
  double minimised_ = std::numeric_limits<double>::infinity();
  double objective_ = 0;
  double fit_ = 0;
};

}  // namespace blco
