#include "engine/fit/tucker_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

constexpr std::uint64_t polled_rows = 256;

}  // namespace

TuckerSweeps::TuckerSweeps(const Tensor& tensor, Matrices factors, const std::vector<int>& ranks,
                           const TuckerOptions& options, TuckerJob& job, ProgressMeter& meter)
    : tensor_(&tensor.summary()),
      ranks_(&ranks),
      options_(&options),
      job_(&job),
      meter_(&meter),
      shape_(tensor.shape(), ranks),
      factors_(std::move(factors)),
      slabs_(tensor, factors_, ranks, *job.slabs->job, job.slabs->slab, meter) {}

void TuckerSweeps::sample_factors() {
  Matrices sampled = slabs_.sample_vectors(options_->seed, pool());
  for (std::size_t n = 0; n < sampled.size(); ++n) set_factor(n, std::move(sampled[n]));
}

void TuckerSweeps::start(std::span<const double> core) {
  has_core_ = !core.empty();
  core_.assign(core.begin(), core.end());
  core_.resize(static_cast<std::size_t>(shape_.numbers()));
}

void TuckerSweeps::run_step(SweepReport& report) {
  factors_before_ = factors_;
  core_before_ = core_;
  const bool is_hoqri = job_->method == TuckerMethod::hoqri;
  const std::size_t last = last_update();
  if (is_hoqri && !has_core_) refresh_core(0);
  for (std::size_t n = 0; n <= last; ++n) {
    if (!is_hoqri && (n == last || !is_held(*options_, n))) update_by_vectors(n, n == last);
    if (is_hoqri && !is_held(*options_, n)) {
      update_by_core(n);
      refresh_core(n);
    }
  }
  has_core_ = true;
  const double of_core = std::inner_product(core_.begin(), core_.end(), core_.begin(), 0.0);
  if (!std::isfinite(of_core)) {
    refuse("the core of sweep " + std::to_string(report.sweep) +
           " is not finite: the values are too large; scale them down, or use " + option_name("precision", "f64"));
  }
  report.objective = std::max(0.0, tensor_->sum_of_squares - of_core);
  report.fit = 1 - std::sqrt(report.objective / tensor_->sum_of_squares);
}

// The mode with which HOOI makes the core: the last that is not held, or, where all are, the last.
std::size_t TuckerSweeps::last_update() const {
  std::size_t mode = ranks_->size() - 1;
  while (mode > 0 && is_held(*options_, mode)) --mode;
  return is_held(*options_, mode) ? ranks_->size() - 1 : mode;
}

void TuckerSweeps::undo_step() {
  factors_ = std::move(factors_before_);
  core_ = std::move(core_before_);
}

bool TuckerSweeps::has_converged(const ModelHeader& so_far, const SweepReport*) const {
  return has_settled(so_far, options_->tolerance);
}

template <class Visit>
void TuckerSweeps::for_each_slab(std::size_t mode, const Visit& visit) {
  const std::uint64_t choices = shape_.choices(mode);
  for (std::uint64_t first = 0; first < choices; first += slabs_.slab()) {
    const std::span<const double> output = slabs_.pass(mode, first);
    visit(first, std::min(slabs_.slab(), choices - first), output);
  }
}

void TuckerSweeps::update_by_vectors(std::size_t mode, bool makes_core) {
  const std::uint64_t choices = shape_.choices(mode);
  const std::vector<double> unfolding = slabs_.unfold(mode);
  if (!is_held(*options_, mode))
    set_factor(mode, leading_left_vectors(unfolding, static_cast<int>(choices), (*ranks_)[mode], pool(), stop()));
  if (!makes_core) return;
  std::vector<double> product;
  multiply_transposed(factors_[mode], shape_.rank(mode), unfolding, product, pool(), stop());
  shape_.fold(product, mode, 0, choices, core_);
}

// The basis of Y G_n^T.
void TuckerSweeps::update_by_core(std::size_t mode) {
  const std::uint64_t rank = shape_.rank(mode);
  std::vector<double> sum(factors_[mode].size());
  std::vector<double> of_choices;  // the core's columns of the slab's choices
  for_each_slab(mode, [&](std::uint64_t first, std::uint64_t count, std::span<const double> output) {
    of_choices.clear();
    shape_.for_each_place(mode, first, count, [&](std::uint64_t, std::uint64_t place) {
      for (std::uint64_t r = 0; r < rank; ++r) of_choices.push_back(core_[place + r * shape_.stride(mode)]);
    });
    run_shares(pool(), tensor_->shape[mode], [&](std::uint64_t row, std::uint64_t end) {
      for (; row < end; ++row) {
        if (row % polled_rows == 0) give_up_if(stop());
        for (std::uint64_t c = 0; c < count; ++c) {
          const double y = output[row * slabs_.slab() + c];
          for (std::uint64_t r = 0; r < rank; ++r) sum[row * rank + r] += y * of_choices[c * rank + r];
        }
      }
    });
  });
  orthonormalise_columns(sum, (*ranks_)[mode], pool(), stop());
  set_factor(mode, std::move(sum));
}

// G_n = U_n^T Y.
void TuckerSweeps::refresh_core(std::size_t mode) {
  std::vector<double> product;
  for_each_slab(mode, [&](std::uint64_t first, std::uint64_t count, std::span<const double> output) {
    multiply_transposed(factors_[mode], shape_.rank(mode), output, product, pool(), stop());
    shape_.fold(product, mode, first, count, core_);
  });
}

void TuckerSweeps::set_factor(std::size_t mode, std::vector<double> factor) {
  factors_[mode] = std::move(factor);
  slabs_.set_changed(mode);
}

}  // namespace blco
