// Tucker models by HOOI and HOQRI: sweeps over the modes. For each mode a pass makes the unfolding, or a round of
// slabs.
#include <algorithm>
#include <blco/tucker.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/column_slabs.hpp"
#include "engine/fit/core_shape.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/output_room.hpp"
#include "engine/fit/tucker_job.hpp"
#include "engine/fit/tucker_ranks.hpp"
#include "engine/model/model_check.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

using Matrices = ColumnSlabs::Matrices;

// matrix * rotation, both row-major; the rotation is a square.
void rotate(std::vector<double>& matrix, std::uint64_t columns, const std::vector<double>& rotation) {
  std::vector<double> row(static_cast<std::size_t>(columns));
  for (std::size_t start = 0; start < matrix.size(); start += row.size()) {
    std::ranges::fill(row, 0.0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      for (std::size_t r = 0; r < row.size(); ++r) row[r] += matrix[start + k] * rotation[k * row.size() + r];
    }
    std::ranges::copy(row, matrix.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

// Rotates the columns so that the core is all-orthogonal and ordered, and turns their largest numbers positive.
void normalise(TuckerModel& model, const std::vector<int>& ranks, Executor& executor) {
  const CoreShape shape(model.shape, ranks);
  std::vector<std::vector<double>> rotations;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    rotations.push_back(
        leading_left_vectors(shape.unfold(model.core, n), static_cast<int>(shape.choices(n)), ranks[n], executor));
    rotate(model.factors[n], shape.rank(n), rotations[n]);
    for (std::uint64_t r = 0; r < shape.rank(n); ++r) {
      if (model.top(n, static_cast<std::size_t>(r), 1).front().value >= 0) continue;
      for (std::size_t i = r; i < model.factors[n].size(); i += shape.rank(n)) model.factors[n][i] *= -1;
      for (std::size_t k = r; k < rotations[n].size(); k += shape.rank(n)) rotations[n][k] *= -1;
    }
  }
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    std::vector<double> rotated;
    multiply_transposed(rotations[n], shape.rank(n), shape.unfold(model.core, n), rotated, executor);
    shape.fold(rotated, n, 0, shape.choices(n), model.core);
  }
}

void check(const Tensor& given, const TuckerOptions& options, const std::vector<int>& ranks) {
  const TensorSummary& tensor = given.summary();
  refuse_inputs_as_outputs({tensor.file}, {options.output, options.checkpoint, options.compute.trace});
  check_end(options.max_sweeps, options.tolerance, options.time_limit_seconds);
  if (!(options.max_error >= 0 && options.max_error < 1)) {
    refuse(option_name("max_error") + " must be at least 0 and less than 1: it is a share of the tensor's norm");
  }
  // The error is the root of a difference of sums of squares, which leaves no digit of smaller ones.
  const bool is_f64 = options.compute.precision == Precision::f64;
  if (options.max_error > 0 && options.max_error < (is_f64 ? 1e-6 : 1e-3)) {
    refuse(option_name("max_error") + " must be at least " + (is_f64 ? "0.000001" : "0.001") + " with " +
           option_name("precision", to_string(options.compute.precision)) + ", which cannot tell smaller ones" +
           (is_f64 ? "; or give ranks by " + option_name("ranks") : "; use " + option_name("precision", "f64")));
  }
  if (options.checkpoint_sweeps < 1) refuse(option_name("checkpoint_sweeps") + " must be at least 1");
  if (!(tensor.sum_of_squares > 0)) refuse("all values of the tensor are zero, so there is nothing to fit");
  if (options.initial == nullptr) return;
  const TuckerModel& initial = *options.initial;
  const std::string fault = size_fault(initial, /*has_core=*/false);
  if (!fault.empty()) refuse("cannot start from the initial model: " + fault);
  if (initial.shape != tensor.shape || std::vector<int>(initial.ranks.begin(), initial.ranks.end()) != ranks)
    refuse("the initial model is not one of a tensor of this shape with these ranks");
  const auto is_finite = [](double x) { return std::isfinite(x); };
  for (const std::vector<double>& factor : initial.factors)
    if (!std::ranges::all_of(factor, is_finite)) refuse("the initial model has a number that is not finite");
  check_initial_labels(given, options.initial->labels);
}

bool has_room(const Tensor& tensor, TuckerOptions options) {
  options.compute.trace.clear();
  try {
    TuckerJob(tensor, options, ranks_of(options, tensor.shape()), {});
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    return false;
  }
}

// Of each mode, where the search for ranks begins: as many as a small core and the budget have room for.
int first_rank(const Tensor& tensor, TuckerOptions options) {
  constexpr int most = 8;
  constexpr double most_numbers = 4096;  // of the core
  int rank = most;
  while (rank > 1 && std::pow(rank, tensor.order()) > most_numbers) --rank;
  for (; rank > 1; rank /= 2) {
    options.ranks = {rank};
    if (has_room(tensor, options)) break;
  }
  return rank;
}

// The options of a fit, with ranks, method and seed taken from a file to resume.
struct TuckerBegin {
  TuckerBegin(const Tensor& tensor, const TuckerOptions& given) : options(given) {
    const bool searches = options.max_error > 0 && options.ranks.empty() && options.initial == nullptr;
    if (options.max_error > 0 && (!options.resume.empty() || !options.checkpoint.empty())) {
      refuse(option_name("max_error") + " has no checkpoints; leave one of them out");
    }
    if (searches) options.ranks = {1};  // until all else is checked
    if (!given.resume.empty()) resume(tensor.summary());
    ranks = ranks_of(options, tensor.shape());
    check(tensor, options, ranks);
    if (!searches) return;
    options.ranks = {first_rank(tensor, options)};
    ranks = ranks_of(options, tensor.shape());
  }

  void resume(const TensorSummary& tensor) {
    const std::string name = options.resume.string();
    const auto fail = [&](const std::string& what) {
      refuse(name + ": the model to resume " + what + "; or start from its matrices by giving it as " +
             option_name("initial"));
    };
    if (options.initial != nullptr)
      refuse("give " + option_name("initial") + " or " + option_name("resume") + ", not both");
    resumed = read_tucker_file(options.resume);
    if (resumed->fit_history.empty()) fail("has no sweeps");
    // Reordering leaves a tensor the same, but its squares are added in another order.
    constexpr double rounding = 1e-12;
    if (resumed->shape != tensor.shape || resumed->tensor_nnz != tensor.nnz ||
        std::abs(resumed->tensor_sum_of_squares - tensor.sum_of_squares) > rounding * tensor.sum_of_squares) {
      fail("was fitted to another tensor; give the one that it was fitted to");
    }
    const std::vector<int> own(resumed->ranks.begin(), resumed->ranks.end());
    if (!options.ranks.empty() && ranks_of(options, tensor.shape) != own)
      fail("has other ranks than " + option_name("ranks") + "; leave that out");
    const auto method = resumed->method == to_string(TuckerMethod::hoqri) ? TuckerMethod::hoqri : TuckerMethod::hooi;
    if (options.method != TuckerMethod::automatic && options.method != method)
      fail("was fitted by " + option_name("method", to_string(method)) + "; leave that out");
    if (resumed->fit_history.size() > static_cast<std::size_t>(std::max(options.max_sweeps, 0))) {
      fail("has " + std::to_string(resumed->fit_history.size()) + " sweeps, more than " +
           option_name("max_sweeps", std::to_string(options.max_sweeps)) + "; give more");
    }
    options.ranks = own;
    options.method = method;
    options.seed = resumed->seed;
  }

  TuckerOptions options;
  std::vector<int> ranks;
  std::optional<TuckerFile> resumed;
};

class TuckerFit {
 public:
  // Takes the numbers of a file to resume.
  TuckerFit(const Tensor& tensor, TuckerBegin& begin, TuckerJob& job, ProgressMeter& meter)
      : tensor_(&tensor.summary()),
        options_(&begin.options),
        ranks_(&begin.ranks),
        job_(&job),
        meter_(&meter),
        shape_(tensor.shape(), begin.ranks) {
    if (begin.resumed) {
      model_ = to_model(*std::exchange(begin.resumed, std::nullopt));
      factors_ = model_.factors;
      core_ = model_.core;
    } else {
      core_.resize(static_cast<std::size_t>(shape_.numbers()));
      try {
        start();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::cancelled) throw;
        throw Error(ErrorKind::cancelled, "stopped before the first sweep, so there is no model");
      }
    }
    model_.shape = tensor_->shape;
    model_.ranks.assign(ranks_->begin(), ranks_->end());
    model_.method = job.method;
    model_.mode_names = tensor_->mode_names;
    model_.labels = tensor.labels();
    model_.seed = options_->seed;
    model_.tensor_nnz = tensor_->nnz;
    model_.tensor_sum_of_squares = tensor_->sum_of_squares;
  }

  TuckerModel run(const Tensor& tensor) {
    const bool samples = TuckerJob::samples(*options_);
    // Whole unfoldings have no slabs of random columns: a job before this one makes them.
    if (samples && job_->slabs->slab == 0) {
      SlabJob sampling = TuckerJob::sampling(tensor, *options_, *ranks_, stop());
      slabs_.emplace(tensor, factors_, *ranks_, *sampling.job, sampling.slab, *meter_);
      sample_factors();
      slabs_.reset();
    }
    slabs_.emplace(tensor, factors_, *ranks_, *job_->slabs->job, job_->slabs->slab, *meter_);
    if (options_->on_plan) {
      TuckerPlan plan = job_->describe();
      plan.ranks = *ranks_;
      options_->on_plan(plan);
    }
    if (samples && slabs_->slab() != 0) sample_factors();
    // A resumed fit may already be complete.
    std::optional<StopReason> stop = model_.sweeps() == 0 ? std::nullopt : reason_to_end();
    while (!stop) stop = run_sweep();
    model_.stop_reason = *stop;
    if (!options_->checkpoint.empty()) write_checkpoint();
    slabs_.reset();
    normalise(model_, *ranks_, pool());
    return std::move(model_);
  }

 private:
  static constexpr std::uint64_t polled_rows = 256;

  Executor& pool() { return job_->slabs->job->pool(); }
  StopPoll stop() {
    return [this] { return meter_->poll(); };
  }

  void start() {
    for (std::size_t n = 0; n < ranks_->size(); ++n) {
      factors_.emplace_back(static_cast<std::size_t>(tensor_->shape[n] * shape_.rank(n)));
      if (options_->initial != nullptr) {
        factors_[n] = options_->initial->factors[n];
      } else {
        fill_initial_rows(options_->seed, static_cast<int>(n), 0, (*ranks_)[n], factors_[n], Start::normal);
      }
      orthonormalise_columns(factors_[n], (*ranks_)[n], pool(), stop());
    }
  }

  bool has_converged() const {
    const std::size_t sweeps = model_.sweeps();
    return sweeps > 1 && std::abs(model_.fit() - model_.fit_history[sweeps - 2]) < options_->tolerance;
  }

  std::optional<StopReason> reason_to_end() const {
    if (has_converged()) return StopReason::tolerance;
    if (model_.sweeps() >= static_cast<std::size_t>(options_->max_sweeps)) return StopReason::sweeps;
    return std::nullopt;
  }

  // Losing a copy on disk is no reason to lose the fit.
  void write_checkpoint() {
    CheckpointReport report{.sweep = static_cast<int>(model_.sweeps()), .failure = {}};
    TuckerFile file = to_file(std::move(model_));
    try {
      write_tucker_file(options_->checkpoint, file,
                        options_->claims == nullptr ? nullptr : options_->claims->find(options_->checkpoint));
    } catch (const Error& error) {
      report.failure = error;
    } catch (const std::bad_alloc&) {
      report.failure = Error(ErrorKind::out_of_memory, "the system has no more memory for the checkpoint");
    }
    model_ = to_model(std::move(file));
    if (options_->on_checkpoint) options_->on_checkpoint(report);
  }

  void sample_factors() {
    Matrices sampled = slabs_->sample_vectors(options_->seed, pool());
    for (std::size_t n = 0; n < ranks_->size(); ++n) set_factor(n, std::move(sampled[n]));
  }

  std::optional<StopReason> run_sweep() {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t passes = slabs_->workers().passes();
    const std::uint64_t bytes_read = slabs_->workers().bytes_read();
    SweepReport report;
    report.sweep = static_cast<int>(model_.sweeps()) + 1;
    meter_->begin({.name = "sweep", .sweep = report.sweep, .nonzeros = tensor_->nnz * job_->passes_per_sweep});
    try {
      sweep();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || !meter_->stop_requested()) throw;
      if (model_.sweeps() > 0) return meter_->reason();
      throw Error(ErrorKind::cancelled,
                  meter_->stop_message() + " before the end of the first sweep, so there is no model");
    }
    meter_->report_end();
    const double of_core = std::inner_product(core_.begin(), core_.end(), core_.begin(), 0.0);
    if (!std::isfinite(of_core)) {
      refuse("the core of sweep " + std::to_string(report.sweep) +
             " is not finite: the values are too large; scale them down, or use " + option_name("precision", "f64"));
    }
    report.objective = std::max(0.0, tensor_->sum_of_squares - of_core);
    report.fit = 1 - std::sqrt(report.objective / tensor_->sum_of_squares);
    report.fit_change = report.fit - model_.fit();
    report.passes = slabs_->workers().passes() - passes;
    report.bytes_read = slabs_->workers().bytes_read() - bytes_read;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    model_.factors = factors_;
    model_.core = core_;
    model_.fit_history.push_back(report.fit);
    report.converged = has_converged();
    const std::optional<StopReason> stop = reason_to_stop(report);
    if (!stop && !options_->checkpoint.empty() && report.sweep % options_->checkpoint_sweeps == 0) {
      model_.stop_reason = StopReason::unfinished;
      write_checkpoint();
    }
    return stop;
  }

  std::optional<StopReason> reason_to_stop(const SweepReport& report) {
    if (options_->on_sweep && !options_->on_sweep(report)) return StopReason::cancelled;
    if (const std::optional<StopReason> end = reason_to_end()) return end;
    if (meter_->stop_requested()) return meter_->reason();
    return std::nullopt;
  }

  void sweep() {
    const bool is_hoqri = job_->method == TuckerMethod::hoqri;
    if (is_hoqri && model_.sweeps() == 0) refresh_core(0);
    for (std::size_t n = 0; n < ranks_->size(); ++n) {
      if (is_hoqri) {
        update_by_core(n);
        refresh_core(n);
      } else {
        update_by_vectors(n, n + 1 == ranks_->size());
      }
    }
  }

  // Calls visit(first choice, how many, I_n x slab of Y).
  template <class Visit>
  void for_each_slab(std::size_t mode, const Visit& visit) {
    const std::uint64_t choices = shape_.choices(mode);
    for (std::uint64_t first = 0; first < choices; first += slabs_->slab()) {
      const std::span<const double> output = slabs_->pass(mode, first);
      visit(first, std::min(slabs_->slab(), choices - first), output);
    }
  }

  void update_by_vectors(std::size_t mode, bool makes_core) {
    const std::uint64_t choices = shape_.choices(mode);
    const std::vector<double> unfolding = slabs_->unfold(mode);
    set_factor(mode, leading_left_vectors(unfolding, static_cast<int>(choices), (*ranks_)[mode], pool(), stop()));
    if (!makes_core) return;
    std::vector<double> product;
    multiply_transposed(factors_[mode], shape_.rank(mode), unfolding, product, pool(), stop());
    shape_.fold(product, mode, 0, choices, core_);
  }

  // The basis of Y G_n^T.
  void update_by_core(std::size_t mode) {
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
            const double y = output[row * slabs_->slab() + c];
            for (std::uint64_t r = 0; r < rank; ++r) sum[row * rank + r] += y * of_choices[c * rank + r];
          }
        }
      });
    });
    orthonormalise_columns(sum, (*ranks_)[mode], pool(), stop());
    set_factor(mode, std::move(sum));
  }

  // G_n = U_n^T Y.
  void refresh_core(std::size_t mode) {
    std::vector<double> product;
    for_each_slab(mode, [&](std::uint64_t first, std::uint64_t count, std::span<const double> output) {
      multiply_transposed(factors_[mode], shape_.rank(mode), output, product, pool(), stop());
      shape_.fold(product, mode, first, count, core_);
    });
  }

  void set_factor(std::size_t mode, std::vector<double> factor) {
    factors_[mode] = std::move(factor);
    slabs_->set_changed(mode);
  }

  const TensorSummary* tensor_;
  const TuckerOptions* options_;
  const std::vector<int>* ranks_;
  TuckerJob* job_;
  ProgressMeter* meter_;
  CoreShape shape_;
  Matrices factors_;          // of the sweep in progress
  std::vector<double> core_;  // the same
  TuckerModel model_;         // of the last sweep
  std::optional<ColumnSlabs> slabs_;
};

}  // namespace

std::vector<int> ranks_of(const TuckerOptions& options, const std::vector<std::uint64_t>& shape) {
  std::vector<int> ranks = options.ranks;
  for (const int rank : ranks) {
    if (rank < 1) refuse(option_name("ranks") + " must be at least 1, not " + std::to_string(rank));
  }
  if (ranks.size() == 1) {
    const auto wanted = static_cast<std::uint64_t>(ranks.front());
    ranks.clear();
    for (const std::uint64_t length : shape) ranks.push_back(static_cast<int>(std::min(wanted, length)));
    // A rank is at most the product of the others; only the largest can be more.
    const auto largest = std::ranges::max_element(ranks);
    std::uint64_t others = 1;
    for (auto rank = ranks.begin(); rank != ranks.end() && others < wanted; ++rank) {
      if (rank != largest) others *= static_cast<std::uint64_t>(*rank);
    }
    *largest = static_cast<int>(std::min(static_cast<std::uint64_t>(*largest), others));
  }
  if (ranks.size() != shape.size()) {
    refuse(std::to_string(ranks.size()) + " ranks do not suit a tensor of " + std::to_string(shape.size()) +
           (shape.size() == 1 ? " mode" : " modes") + "; give one for each, or one for all");
  }
  constexpr std::uint64_t max_core = std::uint64_t{1} << 32;
  std::uint64_t core = 1;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    if (static_cast<std::uint64_t>(ranks[n]) > shape[n]) {
      refuse("rank " + std::to_string(ranks[n]) + " of mode " + std::to_string(n) + " exceeds the mode's length of " +
             std::to_string(shape[n]));
    }
    core *= static_cast<std::uint64_t>(ranks[n]);
    if (core > max_core) refuse("a core of these ranks has more than 2^32 numbers; lower " + option_name("ranks"));
  }
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    const std::uint64_t others = core / static_cast<std::uint64_t>(ranks[n]);
    if (others > std::numeric_limits<int>::max())
      refuse("the product of the ranks is too large; lower " + option_name("ranks"));
    if (static_cast<std::uint64_t>(ranks[n]) > others) {
      refuse("rank " + std::to_string(ranks[n]) + " of mode " + std::to_string(n) +
             " exceeds the product of the other ranks, " + std::to_string(others) + ", so that columns would be empty");
    }
  }
  return ranks;
}

TuckerPlan plan_tucker(const Tensor& tensor, const TuckerOptions& options) {
  const TuckerBegin begin(tensor, options);
  TuckerPlan plan = TuckerJob(tensor, begin.options, begin.ranks, {}).describe();
  plan.ranks = begin.ranks;
  return plan;
}

TuckerModel fit_tucker(const Tensor& tensor, const TuckerOptions& given) {
  if (given.max_error != 0) {
    const TuckerBegin begin(tensor, given);
    TuckerOptions options = begin.options;
    options.ranks = begin.ranks;
    return fit_to_error(tensor, options);
  }
  ProgressMeter meter(given.on_progress, given.time_limit_seconds);
  TuckerBegin begin(tensor, given);
  TuckerOptions& options = begin.options;
  TuckerJob job(tensor, options, begin.ranks, [&meter] { return meter.poll(); });
  const std::vector<std::uint64_t>& label_bytes = tensor.summary().label_bytes;
  const std::uint64_t bytes =
      tucker_file_bytes(tensor.shape(), {begin.ranks.begin(), begin.ranks.end()},
                        std::accumulate(label_bytes.begin(), label_bytes.end(), std::uint64_t{0}));
  check_output_room(options.output, bytes, options.checkpoint, bytes, options.max_sweeps > options.checkpoint_sweeps);
  OutputClaims claims;
  if (options.claims == nullptr && !options.checkpoint.empty()) {
    claims.add(options.checkpoint);
    options.claims = &claims;
  }
  TuckerFit fit(tensor, begin, job, meter);
  TuckerModel model = fit.run(tensor);
  job.slabs->job->close_trace();
  return model;
}

}  // namespace blco
