// Tensor completion: least squares over the entries alone, absent cells being unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/held_out.hpp"

namespace blco {

// Alternating least squares; a row of a mode minimises a quadratic of its own, by conjugate gradients from the old row.
// Columns are not normalised, and weights are 1.
class CpCompletion final : public FitMethod {
 public:
  explicit CpCompletion(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static void check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  // Random factors are scaled so that the model's mean square is that of the given values; weights go evenly into the
  // modes.
  void start(std::span<const double> weights) override;
  // Updates every mode, in order; a stop ends it after the pass in progress, with what the modes have gained so far.
  void run_step(SweepReport& report) override;
  // With held-out entries: back to the model of the least error.
  std::size_t finish() override;
  const std::vector<double>& weights() const override { return weights_; }

  // Errors so far and the number of the next pass; with held-out entries the best factors.
  MethodState state() const override;
  void store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  // A fit that goes on without held-out entries needs no best factors.
  void restore(ResumedState& state) override;

 private:
  const CompletionMethod& completion() const { return std::get<CompletionMethod>(context_.options.method); }
  int order() const { return static_cast<int>(context_.tensor.summary().shape.size()); }
  std::size_t numbers_of(int mode) const;

  void scale_factor(int mode, std::span<const double> scales);
  void update_mode(int mode);
  void begin_conjugate_gradients(int mode);
  void take_step(int mode);
  template <class Visit>
  void for_each_output_row(int mode, const Visit& visit);
  void find_squares();
  double squared_error();
  void validate(SweepReport& report);

  FitContext context_;
  std::size_t rank_;
  std::vector<double> weights_;
  // Of the mode in work: the factor, the negative half gradient, the direction; and a block of the output.
  std::vector<double> factor_;
  std::vector<double> residual_;
  std::vector<double> direction_;
  std::vector<double> block_;
  std::vector<double> squares_;  // per mode, the sum over the factor's entries; empty before the first step
  double least_cosine_;          // of the angle between a direction and its product; above the root of rounding errors
  double solved_;                // a residual that falls by this consists of rounding errors
  double last_rmse_ = -1;        // after the last sweep; negative: none

  std::optional<HeldOut> held_out_;
  double least_error_ = -1;  // on the held-out entries; negative: none yet
  double last_error_ = -1;
  std::size_t best_sweep_ = 0;             // of the least held-out error
  int rises_ = 0;                          // how many sweeps in a row have raised it
  std::vector<std::vector<double>> best_;  // the factors of the least error
};

}  // namespace blco
