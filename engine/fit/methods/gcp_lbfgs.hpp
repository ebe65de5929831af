// Generalised CP where the sum over all cells is exact: L-BFGS.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/gcp_objective.hpp"
#include "engine/fit/methods/lbfgs_b.hpp"
#include "engine/fit/methods/sampled_zeros.hpp"

namespace blco {

class GcpLbfgs final : public FitMethod {
 public:
  explicit GcpLbfgs(const FitContext& context);

  // Whether there are so few absent cells that each evaluation can take all, whatever the loss.
  static bool takes_all_cells(const TensorSummary& tensor);
  static void check(const CpdOptions& options);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  void start(std::span<const double> weights) override;
  // One run of L-BFGS, which starts from the factors alone.
  void run_step(SweepReport& report) override;
  const std::vector<double>& weights() const override { return weights_; }

  // The number of the next pass.
  MethodState state() const override;
  void restore(ResumedState& state) override;

 private:
  void find_scales();
  template <class Operation>
  void combine(std::span<const double> from, std::span<double> to, const Operation& operation);
  double evaluate(std::span<const double> scaled, std::span<double> gradient);
  const std::vector<std::uint64_t>& shape() const { return context_.tensor.summary().shape; }

  FitContext context_;
  double model_scale_;                 // the factors' model is that many times the model
  std::vector<double> weights_;        // so all are 1 / model_scale_
  std::optional<SampledZeros> zeros_;  // all cells, where the loss has no closed form
  GcpObjective objective_;
  LbfgsB minimizer_;            // of the factors' numbers over their scales
  std::vector<double> scales_;  // of a sweep of poisson; empty: all are 1
};

}  // namespace blco
