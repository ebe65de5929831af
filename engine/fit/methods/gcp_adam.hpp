// Generalised CP for losses of which zeros are sampled: Adam on sampled gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/common/counter_random.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/sampled_zeros.hpp"

namespace blco {

// A step takes some chunks and a sample of all cells, which count as zeros: semi-stratified sampling (Kolda & Hong
// 2020, section 5.3), whose gradient is
//   nnz / nnz of the chunks * (the nonzeros' f'(x, m) - f'(0, m)) + cells / samples * (the samples' f'(0, m)).
// Moments change in rows that the step touches only.
class GcpAdam final : public FitMethod {
 public:
  explicit GcpAdam(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  void start(std::span<const double> weights) override;
  // All chunks in random order, as often as it takes for min_steps. It counts only if it lowers the
  // objective, all nonzeros and the same sample of zeros each time; otherwise factors and moments return to what they
  // were. A sweep that gains next to nothing makes the next one's steps smaller.
  void run_step(SweepReport& report) override;
  const std::vector<double>& weights() const override { return weights_; }

  MethodState state() const override;
  // The first and the second moments.
  void store_rows(std::size_t matrix, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void restore(ResumedState& state) override;

 private:
  const std::vector<std::uint64_t>& shape() const { return context_.tensor.summary().shape; }
  int order() const { return static_cast<int>(shape().size()); }
  void count_indices();
  double estimate();
  void find_scales();
  bool take_steps();  // false: a stop left some out
  void take_step(std::span<const std::uint64_t> chunks);
  void update_mode(int mode);
  void keep_copies();
  void return_to_copies();

  FitContext context_;
  GcpMethod method_;
  bool nonnegative_;
  std::vector<double> weights_;  // all 1: the factors hold them
  IndexCounts counts_;
  SampledZeros sample_;         // of a step
  SampledZeros fixed_sample_;   // of the objective
  double cells_;                // of the whole tensor
  std::vector<double> scales_;  // of a sweep: of each column of each mode
  double steps_ = 0;            // behind the moments
  double steps_before_ = 0;
  double draws_ = 0;  // of samples, those of failed sweeps included
  double rate_;
  double failures_ = 0;  // in a row
  std::optional<double> objective_;
};

}  // namespace blco
