// Alternating least squares, with or without constraints on the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"
#include "kernels/backend.hpp"

namespace blco {

// A mode whose columns keep their scale fits the model's weights only if they belong to another mode meanwhile.
class CarriedWeights {
 public:
  // Multiplies the columns of a mode's factor, of I_n x R, by the weights. `backend` must outlive the object.
  void carry(Backend& backend, int mode, std::uint64_t length, std::span<const double> weights);
  // Gives the mode its factor back, bit for bit. Does nothing if no mode carries the weights.
  void put_down();

 private:
  Backend* backend_ = nullptr;
  int mode_ = -1;  // that carries them; -1: none
  std::vector<double> rows_;
};

class CpAls final : public FitMethod {
 public:
  // Requires: the tensor's sum of squares is > 0.
  explicit CpAls(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  void start(std::span<const double> weights) override;
  // Updates every mode once, in order. The fit, 1 - |X - model| / |X|, comes from the last mode's MTTKRP (Kolda & Bader
  // 2009, section 3.4). Throws Error: invalid_argument if numbers leave the range of a double; corrupt if the residual
  // is negative by more than rounding, which happens if the stored sum of squares is not that of the tensor; cancelled.
  void run_step(SweepReport& report) override;
  // Requires a backend that keeps previous factors.
  void undo_step() override;
  bool has_converged(const CpdModel& so_far, const SweepReport* report) const override;
  const std::vector<double>& weights() const override { return weights_; }

  // The duals of constrained modes.
  MethodState state() const override;
  void store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void restore(ResumedState& state) override;

 private:
  RowConstraint constraint_of(int mode) const;
  bool is_zero(int mode) const;
  static int carrier_of(const TensorSummary& tensor, const std::vector<RowConstraint>& constraints);
  // `carried`: the weights belong to another mode, and the old rows are as they are.
  RowUpdate update_rows(int mode, bool carried);
  double fit(double inner, int sweep);

  FitContext context_;
  int order_;
  int rank_;
  double norm_squared_;
  int carrier_;  // the mode that carries the weights while one is updated that keeps its scale; -1: none has to
  CarriedWeights carried_;
  std::vector<double> weights_;
  std::vector<double> weights_before_;  // as of the start of this sweep
  int updated_modes_ = 0;               // in this sweep, one that has only begun included
  std::vector<int> system_ranks_;       // per mode: R, or less if the normal equations were singular
};

}  // namespace blco
