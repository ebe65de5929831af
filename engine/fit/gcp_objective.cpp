#include "engine/fit/gcp_objective.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "engine/fit/row_blocks.hpp"

namespace blco {

bool sums_over_zeros(const Loss& loss) { return loss.kind == LossKind::gaussian || loss.kind == LossKind::poisson; }

GcpObjective::GcpObjective(Backend& backend, Executor& executor, std::span<const std::uint64_t> shape, int rank,
                           const Loss& loss, AbsentEntries absent)
    : backend_(&backend), executor_(&executor), shape_(shape), rank_(rank), loss_(loss), absent_(absent) {
  if (absent == AbsentEntries::zeros && loss.kind == LossKind::poisson) {
    column_sums_.assign(shape.size(), std::vector<double>(static_cast<std::size_t>(rank)));
  }
}

PassRequest GcpObjective::pass() const {
  const EntryRule rule = absent_ == AbsentEntries::zeros ? EntryRule::beyond_zero : EntryRule::given;
  return {EntryFunction{.rule = rule, .loss = loss_}, all_modes(order())};
}

double GcpObjective::value() {
  others_mode_ = -1;
  if (absent_ == AbsentEntries::unknown) return backend_->sum_of_terms();
  if (loss_.kind == LossKind::poisson) sum_columns();
  // With no mode left out, the product's entries add up to the zeros' term.
  multiply_others(order());
  return std::accumulate(others_.begin(), others_.end(), 0.0) + backend_->sum_of_terms();
}

void GcpObjective::read_gradient(int mode, std::uint64_t first_row, std::span<double> rows) {
  backend_->read_output(mode, first_row, rows);
  if (absent_ == AbsentEntries::unknown) return;
  if (others_mode_ != mode) multiply_others(mode);
  if (loss_.kind == LossKind::gaussian) return add_zeros_of_gaussian(mode, first_row, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += others_[i % others_.size()];
}

void GcpObjective::sum_columns() {
  block_.resize(numbers_of_block(rank_));
  for (int mode = 0; mode < order(); ++mode) {
    std::vector<double>& sums = column_sums_[static_cast<std::size_t>(mode)];
    std::ranges::fill(sums, 0.0);
    for_each_row_block(shape_[static_cast<std::size_t>(mode)], rank_, [&](std::uint64_t first, std::size_t count) {
      const std::span<double> rows = std::span(block_).first(count);
      backend_->store_factor(mode, first, rows);
      for (std::size_t start = 0; start < count; start += sums.size()) {
        for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += rows[start + r];
      }
      return true;
    });
  }
}

void GcpObjective::multiply_others(int mode) {
  const auto rank = static_cast<std::size_t>(rank_);
  others_.assign(loss_.kind == LossKind::gaussian ? rank * rank : rank, 1.0);
  others_mode_ = mode;
  for (int other = 0; other < order(); ++other) {
    if (other == mode) continue;
    const std::span<const double> factor = loss_.kind == LossKind::gaussian
                                               ? backend_->gram(other)
                                               : std::span<const double>(column_sums_[static_cast<std::size_t>(other)]);
    for (std::size_t i = 0; i < others_.size(); ++i) others_[i] *= factor[i];
  }
}

// rows += 2 A V, where V is symmetric.
void GcpObjective::add_zeros_of_gaussian(int mode, std::uint64_t first_row, std::span<double> rows) {
  const auto rank = static_cast<std::size_t>(rank_);
  constexpr std::size_t rows_of_task = 256;
  const auto add = [&](std::span<const double> factor, std::span<double> sums) {
    for (std::size_t start = 0; start < sums.size(); start += rank) {
      for (std::size_t s = 0; s < rank; ++s) {
        const double twice = 2 * factor[start + s];
        for (std::size_t r = 0; r < rank; ++r) sums[start + r] += twice * others_[s * rank + r];
      }
    }
  };
  block_.resize(numbers_of_block(rank_));
  for_each_row_block(rows.size() / rank, rank_, [&](std::uint64_t first, std::size_t count) {
    const std::span<double> factor = std::span(block_).first(count);
    const std::span<double> sums = rows.subspan(static_cast<std::size_t>(first) * rank, count);
    backend_->store_factor(mode, first_row + first, factor);
    const std::size_t step = rows_of_task * rank;
    executor_->run((count + step - 1) / step, [&](std::size_t task) {
      const std::size_t numbers = std::min(step, count - task * step);
      add(factor.subspan(task * step, numbers), sums.subspan(task * step, numbers));
    });
    return true;
  });
}

}  // namespace blco
