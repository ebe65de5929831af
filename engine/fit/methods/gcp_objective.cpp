#include "engine/fit/methods/gcp_objective.hpp"

#include <cstddef>
#include <numeric>

#include "blco/raw_vector.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/work/rows/row_blocks.hpp"

namespace blco {

bool sums_over_zeros(const Loss& loss) { return loss_at_zero(loss) != ZeroLoss::other; }

GcpObjective::GcpObjective(WorkerGroup& workers, std::span<const std::uint64_t> shape, int rank, const Loss& loss,
                           AbsentCells absent, double zeros_scale)
    : workers_(&workers),
      shape_(shape),
      rank_(rank),
      loss_(loss),
      at_zero_(loss_at_zero(loss)),
      absent_(absent),
      zeros_scale_(zeros_scale) {}

PassRequest GcpObjective::pass() const {
  const EntryRule rule = absent_ == AbsentCells::zeros ? EntryRule::beyond_zero : EntryRule::given;
  return {EntryFunction{.rule = rule, .loss = loss_}, all_modes(order())};
}

double GcpObjective::value() {
  others_mode_ = -1;
  if (absent_ == AbsentCells::unknown) return workers_->sum_of_terms();
  if (at_zero_ == ZeroLoss::model) sum_columns();
  // With no mode left out, the product's entries add up to the zeros' term.
  multiply_others(-1);
  return std::accumulate(others_.begin(), others_.end(), 0.0) + workers_->sum_of_terms();
}

OtherModes GcpObjective::others(int mode) {
  if (absent_ == AbsentCells::unknown) return {};
  if (others_mode_ != mode) multiply_others(mode);
  others_mode_ = mode;
  return {.product = others_, .is_of_squares = at_zero_ == ZeroLoss::square};
}

void GcpObjective::read_gradient(int mode, std::uint64_t first_row, std::span<double> rows) {
  workers_->factors().read_output(mode, first_row, rows);
  block_.resize(numbers_of_block(rank_));
  add_gradient_of_zeros(others(mode), rank_, workers_->factors(), mode, first_row, block_, workers_->executor(), rows);
}

void GcpObjective::sum_columns() {
  column_sums_.clear();
  for (int mode = 0; mode < order(); ++mode) column_sums_.push_back(workers_->factors().column_sums(mode));
}

void GcpObjective::multiply_others(int left_out) {
  if (at_zero_ == ZeroLoss::square) {
    free_memory(others_);  // R x R, of which there is room for one
    others_ = product_of_grams(workers_->factors(), order(), rank_, left_out);
    return;
  }
  others_.assign(static_cast<std::size_t>(rank_), zeros_scale_);
  for (std::size_t n = 0; n < column_sums_.size(); ++n) {
    if (static_cast<int>(n) == left_out) continue;
    for (std::size_t r = 0; r < others_.size(); ++r) others_[r] *= column_sums_[n][r];
  }
}

}  // namespace blco
