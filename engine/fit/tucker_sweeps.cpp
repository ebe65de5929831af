#include "engine/fit/tucker_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"

namespace blco {

TuckerSweeps::TuckerSweeps(const Tensor& tensor, const std::vector<int>& ranks, const TuckerOptions& options,
                           TuckerJob& job, ProgressMeter& meter)
    : tensor_(&tensor.summary()),
      ranks_(&ranks),
      options_(&options),
      job_(&job),
      meter_(&meter),
      shape_(tensor.shape(), ranks),
      slabs_(tensor, *job.slabs->job, meter) {}

void TuckerSweeps::sample_matrices() { slabs_.sample_vectors(options_->seed, pool()); }

void TuckerSweeps::start(std::span<const double> core) {
  has_core_ = !core.empty();
  core_.assign(core.begin(), core.end());
  core_.resize(static_cast<std::size_t>(shape_.numbers()));
}

void TuckerSweeps::run_step(SweepReport& report) {
  matrices().keep();
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
  matrices().undo();
  core_ = std::move(core_before_);
}

bool TuckerSweeps::has_converged(const ModelHeader& so_far, const SweepReport*) const {
  return has_settled(so_far, options_->tolerance);
}

template <class Visit>
void TuckerSweeps::for_each_slab(std::size_t mode, const Visit& visit) {
  const std::uint64_t choices = shape_.choices(mode);
  for (std::uint64_t first = 0; first < choices; first += slabs_.slab()) {
    slabs_.pass(mode, first);
    visit(first, std::min(slabs_.slab(), choices - first));
  }
}

void TuckerSweeps::update_by_vectors(std::size_t mode, bool makes_core) {
  slabs_.unfold(mode);
  if (!is_held(*options_, mode)) {
    matrices().set_leading_left_vectors(mode, pool(), [this] { return meter_->poll(); });
    slabs_.set_changed(mode);
  }
  if (makes_core) shape_.fold(matrices().project(mode), mode, 0, shape_.choices(mode), core_);
}

// The basis of Y G_n^T.
void TuckerSweeps::update_by_core(std::size_t mode) {
  const std::uint64_t rank = shape_.rank(mode);
  matrices().clear(mode);
  for_each_slab(mode, [&](std::uint64_t first, std::uint64_t count) {
    std::vector<double> of_choices;  // the core's columns of the slab's choices
    shape_.for_each_place(mode, first, count, [&](std::uint64_t, std::uint64_t place) {
      for (std::uint64_t r = 0; r < rank; ++r) of_choices.push_back(core_[place + r * shape_.stride(mode)]);
    });
    matrices().add_products(mode, of_choices);
  });
  matrices().orthonormalise(mode);
  slabs_.set_changed(mode);
}

// G_n = U_n^T Y.
void TuckerSweeps::refresh_core(std::size_t mode) {
  for_each_slab(mode, [&](std::uint64_t first, std::uint64_t count) {
    shape_.fold(matrices().project_output(mode), mode, first, count, core_);
  });
}

}  // namespace blco
