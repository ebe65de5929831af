// CP-APR, alternating Poisson regression by multiplicative updates: Chi & Kolda, On Tensors, Sparsity, and Nonnegative
// Factorizations, SIAM J. Matrix Anal. Appl. 2012, algorithm 3.
#pragma once

#include <span>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"

namespace blco {

// Between steps the columns of all factors have the sum 1, and the weights are the components' shares of the counts.
class CpApr final : public FitMethod {
 public:
  explicit CpApr(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static void check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  // Throws Error{invalid_argument} for negative factors or weights of a resumed model.
  void start(std::span<const double> weights) override;
  // Updates every mode, in order; a stop ends it after the pass in progress, with the modes so far. The objective is
  // that of the model at the end of the step, the KKT violation the largest that any mode had before its update. The
  // step has converged if no mode needed one.
  void run_step(SweepReport& report) override;
  const std::vector<double>& weights() const override { return weights_; }

  // The number of the next pass, on which the order of sums depends.
  MethodState state() const override;
  void restore(ResumedState& state) override;

 private:
  // How far a mode is from the optimality conditions.
  struct Violation {
    double largest = 0;            // of |min(b, 1 - phi)|
    bool has_stuck_zeros = false;  // that have to grow, but cannot by multiplication
  };

  const AprMethod& apr() const { return std::get<AprMethod>(context_.options.method); }
  std::uint64_t rows(int mode) const { return context_.tensor.summary().shape[static_cast<std::size_t>(mode)]; }
  bool is_stuck(double entry, double weight, double phi) const;

  void normalise_factors();
  void update_mode(int mode, SweepReport& report);
  void run_pass(ModeSet outputs);
  Violation measure(int mode, bool until_any);
  void free_stuck_zeros(int mode);
  void multiply(int mode);
  std::vector<double> sums_of_columns(int mode);
  template <class Visit>
  void for_each_block(int mode, const Visit& visit);
  void scale(int mode, std::span<const double> scales);

  FitContext context_;
  std::vector<double> weights_;
  bool is_normalised_ = false;       // as said above
  bool has_terms_of_model_ = false;  // the last pass was one of the factors as they are
  std::vector<double> block_;        // rows of the factor in work, B
  std::vector<double> phi_;          // the same rows of Phi
};

}  // namespace blco
