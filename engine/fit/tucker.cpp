// The public functions of tucker.hpp: checks what a fit begins with, and runs it.
#include <algorithm>
#include <blco/tucker.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/number_text.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/column_slabs.hpp"
#include "engine/fit/core_shape.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/output_room.hpp"
#include "engine/fit/sweep_driver.hpp"
#include "engine/fit/tucker_job.hpp"
#include "engine/fit/tucker_sweeps.hpp"
#include "engine/model/model_check.hpp"
#include "engine/model/resumed_state.hpp"
#include "engine/work/rows/row_blocks.hpp"
#include "io/container/model_file.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

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

// Rotates the columns of the modes that are not held, so that the core is all-orthogonal and ordered along them, and
// turns their largest numbers positive.
void normalise(TuckerModel& model, const TuckerOptions& options, const std::vector<int>& ranks, Executor& executor) {
  const CoreShape shape(model.shape, ranks);
  std::vector<std::vector<double>> rotations(ranks.size());
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    if (is_held(options, n)) continue;
    rotations[n] =
        leading_left_vectors(shape.unfold(model.core, n), static_cast<int>(shape.choices(n)), ranks[n], executor);
    rotate(model.factors[n], shape.rank(n), rotations[n]);
    for (std::uint64_t r = 0; r < shape.rank(n); ++r) {
      if (model.top(n, static_cast<std::size_t>(r), 1).front().value >= 0) continue;
      for (std::size_t i = r; i < model.factors[n].size(); i += shape.rank(n)) model.factors[n][i] *= -1;
      for (std::size_t k = r; k < rotations[n].size(); k += shape.rank(n)) rotations[n][k] *= -1;
    }
  }
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    if (is_held(options, n)) continue;
    std::vector<double> rotated(model.core.size());
    add_transposed_product(rotations[n], shape.rank(n), shape.unfold(model.core, n), shape.choices(n), rotated,
                           executor);
    shape.fold(rotated, n, 0, shape.choices(n), model.core);
  }
}

// A core is the tensor times the transposed matrices only where their columns are orthonormal.
void check_orthonormal(const std::vector<double>& factor, std::size_t mode, int rank) {
  constexpr double tolerance = 1e-6;
  const auto columns = static_cast<std::size_t>(rank);
  std::vector<double> products(columns * columns);
  for (std::size_t at = 0; at < factor.size(); at += columns) {
    for (std::size_t r = 0; r < columns; ++r) {
      for (std::size_t s = 0; s <= r; ++s) products[r * columns + s] += factor[at + r] * factor[at + s];
    }
  }
  for (std::size_t r = 0; r < columns; ++r) products[r * columns + r] -= 1;
  if (std::ranges::all_of(products, [](double product) { return std::abs(product) <= tolerance; })) return;
  refuse("mode " + std::to_string(mode) +
         " is held, but the columns of its matrix in the initial model are not orthonormal; do not hold that mode");
}

void check_constraints(const TuckerOptions& options, const TensorSummary& tensor) {
  const std::vector<RowConstraint>& constraints = options.constraints;
  check_held_modes(tensor, constraints, options.initial, !options.resume.empty());
  const auto is_taken = [](const RowConstraint& one) {
    return one == RowConstraint() || one == RowConstraint{.set = RowSet::held};
  };
  if (!std::ranges::all_of(constraints, is_taken)) {
    refuse("Tucker models take no other constraint than " + option_name("held"));
  }
}

void check(const Tensor& given, const TuckerOptions& options, const std::vector<int>& ranks) {
  const TensorSummary& tensor = given.summary();
  check_constraints(options, tensor);
  refuse_inputs_as_outputs({tensor.file}, {options.output, options.checkpoint, options.compute.trace});
  check_end(options.max_sweeps, options.tolerance, options.time_limit_seconds);
  if (options.checkpoint_sweeps < 1) refuse(option_name("checkpoint_sweeps") + " must be at least 1");
  if (!(tensor.sum_of_squares > 0)) refuse("all values of the tensor are zero, so there is nothing to fit");
  if (options.initial == nullptr) return;
  const TuckerModel& initial = *options.initial;
  check_initial_shape(tensor, initial);
  const std::string fault = size_fault(initial, /*has_core=*/false);
  if (!fault.empty()) refuse("cannot start from the initial model: " + fault);
  if (std::vector<int>(initial.ranks.begin(), initial.ranks.end()) != ranks) {
    refuse("the initial model has the ranks " + shape_text(initial.ranks) + "; leave out " + option_name("ranks") +
           ", or give the same");
  }
  for (std::size_t n = 0; n < initial.factors.size(); ++n) {
    check_initial_numbers(initial.factors[n], "factor " + std::to_string(n));
    if (is_held(options, n)) check_orthonormal(initial.factors[n], n, ranks[n]);
  }
  check_initial_labels(given, options.initial->labels);
}

TuckerPlan describe_tucker(const TuckerJob& job, const Tensor& tensor, const TuckerOptions& options,
                           const std::vector<int>& ranks) {
  TuckerPlan plan = job.describe();
  plan.ranks = ranks;
  if (options.initial != nullptr) plan.plan.new_rows = count_new_rows(tensor.summary(), *options.initial);
  return plan;
}

// The options of a fit, with ranks, method and seed taken from a file to resume.
struct TuckerBegin {
  TuckerBegin(const Tensor& tensor, const TuckerOptions& given) : options(given) {
    if (!given.resume.empty()) resume(tensor.summary());
    if (options.ranks.empty() && options.initial != nullptr)
      options.ranks.assign(options.initial->ranks.begin(), options.initial->ranks.end());
    ranks = ranks_of(options, tensor.shape());
    check(tensor, options, ranks);
  }

  void resume(const TensorSummary& tensor) {
    const std::string name = options.resume.string();
    const auto fail = [&](const std::string& what) {
      refuse(name + ": the model to resume " + what + "; or start from its matrices by giving it as " +
             option_name("initial"));
    };
    if (options.initial != nullptr)
      refuse("give " + option_name("initial") + " or " + option_name("resume") + ", not both");
    resumed = std::make_unique<ModelFileReader>(options.resume, ModelKind::tucker);
    const ModelFile& model = resumed->header();
    if (model.fit_history.empty()) fail("has no sweeps");
    if (model.shape != tensor.shape || !is_model_of(model, tensor)) {
      fail("was fitted to another tensor; give the one that it was fitted to");
    }
    const std::vector<int> own(model.ranks.begin(), model.ranks.end());
    if (options.constraints.empty()) options.constraints = model.constraints;
    if (without_empty(options.constraints) != without_empty(model.constraints))
      fail("does not hold the modes of " + option_name("held") + "; leave that out");
    if (!options.ranks.empty() && ranks_of(options, tensor.shape) != own)
      fail("has other ranks than " + option_name("ranks") + "; leave that out");
    const bool is_hoqri = model.method == to_string(TuckerMethod::hoqri);
    const TuckerMethod method = is_hoqri ? TuckerMethod::hoqri : TuckerMethod::hooi;
    if (options.method != TuckerMethod::automatic && options.method != method)
      fail("was fitted by " + option_name("method", to_string(method)) + "; leave that out");
    if (model.fit_history.size() > static_cast<std::size_t>(std::max(options.max_sweeps, 0))) {
      fail("has " + std::to_string(model.fit_history.size()) + " sweeps, more than " +
           option_name("max_sweeps", std::to_string(options.max_sweeps)) + "; give more");
    }
    options.ranks = own;
    options.method = method;
    options.seed = model.seed;
  }

  TuckerOptions options;
  std::vector<int> ranks;
  std::unique_ptr<ModelFileReader> resumed;  // null: a new fit
};

class TuckerFit : SweepDriver {
 public:
  TuckerFit(const Tensor& tensor, const TuckerBegin& begin, TuckerJob& job, ProgressMeter& meter, OutputFiles& files)
      : SweepDriver({begin.options, begin.options.max_sweeps, &files}, meter),
        nonzeros_(&tensor),
        begin_(&begin),
        options_(&begin.options),
        ranks_(&begin.ranks),
        job_(&job),
        meter_(&meter) {
    if (begin.resumed) model_.header() = begin.resumed->header().header();
    describe_tensor(tensor, model_);
    model_.ranks.assign(ranks_->begin(), ranks_->end());
    model_.method = to_string(job.method);
    model_.seed = options_->seed;
    model_.constraints = options_->constraints;
    model_.precision = options_->compute.precision;
  }

  TuckerModel run() {
    Job& job = *job_->slabs->job;
    try {
      start();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || begin_->resumed) throw;
      throw Error(ErrorKind::cancelled, "stopped before the first sweep, so there is no model");
    }
    run_sweeps(*sweeps_, model_, sweeps_->workers(), nonzeros_->nnz() * job_->passes_per_sweep);
    sweeps_->matrices().finish();
    for (std::size_t n = 0; n < ranks_->size(); ++n) model_.factors.push_back(sweeps_->matrices().matrix(n));
    model_.core = sweeps_->weights();
    sweeps_.reset();
    normalise(model_, *options_, *ranks_, job.pool());
    return std::move(model_);
  }

 private:
  void start() {
    const bool samples = TuckerJob::samples(*options_);
    // Whole unfoldings have no slabs of random columns: a job before this one makes them.
    std::vector<std::vector<double>> sampled;
    if (samples && job_->slabs->slab == 0) {
      const SlabJob sampling = TuckerJob::sampling(
          *nonzeros_, *options_, *ranks_, [this] { return meter_->poll(); }, job_->held_memory);
      ColumnSlabs slabs(*nonzeros_, *sampling.job, *meter_);
      slabs.sample_vectors(options_->seed, sampling.job->pool());
      for (std::size_t n = 0; n < ranks_->size(); ++n) sampled.push_back(slabs.matrices().matrix(n));
    }
    sweeps_.emplace(*nonzeros_, *ranks_, *options_, *job_, *meter_);
    if (options_->on_plan) options_->on_plan(describe_tucker(*job_, *nonzeros_, *options_, *ranks_));
    for (std::size_t n = 0; n < sampled.size(); ++n) sweeps_->matrices().load(n, 0, std::exchange(sampled[n], {}));
    if (begin_->resumed) {
      begin_->resumed->read_factors([&](std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
        sweeps_->matrices().load(mode, first_row, rows);
      });
    } else if (!samples) {
      for (std::size_t n = 0; n < ranks_->size(); ++n) load_initial(n);
    } else if (sampled.empty()) {
      sweeps_->sample_matrices();
    }
    sweeps_->start(begin_->resumed ? begin_->resumed->read_core() : std::vector<double>());
  }

  // The rows of the initial model, and random ones.
  void load_initial(std::size_t n) {
    SharedMatrices& matrices = sweeps_->matrices();
    const int rank = (*ranks_)[n];
    std::uint64_t known = 0;
    if (options_->initial != nullptr) {
      matrices.load(n, 0, options_->initial->factors[n]);
      known = options_->initial->shape[n];
    }
    if (is_held(*options_, n)) return;
    std::vector<double> block;
    for_each_row_block(nonzeros_->shape()[n] - known, rank, [&](std::uint64_t first, std::size_t count) {
      block.resize(count);
      fill_initial_rows(options_->seed, static_cast<int>(n), known + first, rank, block, Start::normal);
      // New rows are about as large as those that orthonormal columns have.
      for (double& number : block) number *= known == 0 ? 1 : 1 / std::sqrt(static_cast<double>(known));
      meter_->advance(0, 0);
      matrices.load(n, known + first, block);
      return true;
    });
    matrices.orthonormalise(n);
  }

  void record(SweepReport& report) override {
    report.fit_change = report.fit - model_.fit();
    model_.fit_history.push_back(report.fit);
    report.converged = sweeps_->has_converged(model_, &report);
  }

  void write_model(const std::filesystem::path& path, const OutputClaim* claim) override {
    ModelNumbers numbers;
    numbers.factor_rows = [this](std::size_t mode, std::uint64_t first_row, std::span<double> rows) {
      sweeps_->matrices().store(mode, first_row, rows);
    };
    numbers.core = sweeps_->weights();
    write_model_file(path, describe_model(model_), numbers, claim);
  }

  const Tensor* nonzeros_;
  const TuckerBegin* begin_;
  const TuckerOptions* options_;
  const std::vector<int>* ranks_;
  TuckerJob* job_;
  ProgressMeter* meter_;
  TuckerModel model_;  // without factors and core during the sweeps
  std::optional<TuckerSweeps> sweeps_;
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

TuckerPlan plan_tucker(const Tensor& tensor, const TuckerOptions& options) { return plan_run(tensor, options, {}); }

TuckerPlan plan_run(const Tensor& tensor, const TuckerOptions& options, const Account& held) {
  TuckerBegin begin(tensor, options);
  begin.options.compute.trace.clear();
  const TuckerJob job(tensor, begin.options, begin.ranks, {}, held);
  return describe_tucker(job, tensor, begin.options, begin.ranks);
}

TuckerModel fit_tucker(const Tensor& tensor, const TuckerOptions& options) {
  OutputFiles files({options.output, options.checkpoint});
  TuckerModel model = run_tucker(tensor, options, {}, files);
  files.save(model, options.output);
  return model;
}

TuckerModel run_tucker(const Tensor& tensor, const TuckerOptions& given, const Account& held, OutputFiles& files) {
  ProgressMeter meter(given.on_progress, given.time_limit_seconds);
  TuckerBegin begin(tensor, given);
  TuckerOptions& options = begin.options;
  TuckerJob job(
      tensor, options, begin.ranks, [&meter] { return meter.poll(); }, held);
  const std::vector<std::uint64_t>& label_bytes = tensor.summary().label_bytes;
  const std::vector<std::uint64_t> ranks(begin.ranks.begin(), begin.ranks.end());
  const std::uint64_t bytes =
      model_file_bytes(tensor.shape(), ranks, CoreShape(tensor.shape(), begin.ranks).numbers(),
                       std::accumulate(label_bytes.begin(), label_bytes.end(), std::uint64_t{0}));
  check_output_room(options.output, bytes, options.checkpoint, bytes, options.max_sweeps > options.checkpoint_sweeps);
  TuckerFit fit(tensor, begin, job, meter, files);
  TuckerModel model = fit.run();
  job.slabs->job->close_trace();
  return model;
}

}  // namespace blco
