#include "engine/fit/cp_fit.hpp"

#include <algorithm>
#include <blco/option_table.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/momentum.hpp"
#include "engine/fit/methods/value_unit.hpp"
#include "engine/model/arrange_components.hpp"
#include "engine/model/model_check.hpp"
#include "engine/model/resumed_state.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

CpdModel described(const CpdOptions& options) {
  CpdModel model;
  describe_method(options, model);
  return model;
}

// Files of older versions say "gcp" of both its methods. A checkpoint of Adam has its moments; a saved model, which has
// no state, goes on by the one that is wanted.
std::string fitted_by(const ModelFile& model, const std::string& wanted) {
  if (model.method != name_of(GcpMethod())) return model.method;
  const std::string adam = name_of(GcpAdamMethod());
  const bool has_moments = !model.state_matrices.empty() && model.state_matrices.front() == "first moments";
  const bool is_adam = has_moments || (model.state_numbers.empty() && wanted == adam);
  return is_adam ? adam : model.method;
}

std::string in_words(const std::vector<RowConstraint>& constraints) {
  std::string words;
  for (const RowConstraint& constraint : constraints)
    words += (words.empty() ? "" : ", ") + quoted_for_message(to_string(constraint));
  return words.empty() ? "none" : words;
}

std::vector<double> times_power(std::vector<double> numbers, int exponent) {
  for (double& number : numbers) number = std::ldexp(number, exponent);
  return numbers;
}

// 2^n is in the sum for each such mode n.
double set_of_reordered_modes(const TensorSummary& tensor) {
  double set = 0;
  for (const std::uint64_t mode : tensor.reordered_modes) set += static_cast<double>(mode_bit(static_cast<int>(mode)));
  return set;
}

// In words, each option that the model to resume was not fitted with.
std::vector<std::string> differences(const ModelFile& model, const CpdOptions& options) {
  std::vector<std::string> found;
  const auto compare = [&](const char* option, const std::string& of_model, const std::string& given) {
    if (of_model != given) found.push_back(option_name(option, of_model) + ", not " + given);
  };
  const CpdModel wanted = described(options);
  if (options.rank != 0) compare("rank", std::to_string(model.rank), std::to_string(options.rank));
  const std::string method = fitted_by(model, wanted.method);
  compare("method", method, wanted.method);
  const bool same_method = method == wanted.method;
  if (same_method && is_with_momentum(model) && !options.momentum.value_or(true)) {
    found.push_back(option_name("momentum", "on") + ", not off");
  }
  if (same_method || traits_of(*find_method(method)).takes_loss)
    compare("loss", to_string(model.loss), to_string(wanted.loss));
  const std::vector<RowConstraint> constraints = without_empty(wanted.constraints);
  if (const std::vector<RowConstraint> of_model = without_empty(model.constraints); of_model != constraints) {
    found.push_back("the constraints " + in_words(of_model) + ", not " + in_words(constraints));
  }
  if (model.ridge == automatic_ridge && options.ridge != automatic_ridge) {
    found.push_back("a ridge that the fit finds, not " + option_name("ridge", in_full(options.ridge)));
  } else if (model.ridge != automatic_ridge) {
    compare("ridge", in_full(model.ridge), in_full(std::max(options.ridge, 0.0)));
  }
  if (model.states_precision) compare("precision", to_string(model.precision), to_string(options.compute.precision));
  if (same_method && traits_of(options.method).takes_validation && !model.state_matrices.empty() &&
      !has_validation(options.method)) {
    found.push_back("held-out entries, which " + option_name("validation") + " names");
  }
  const int max_sweeps = max_sweeps_of(options);
  if (model.sweeps() > static_cast<std::uint64_t>(max_sweeps)) {
    found.push_back(std::to_string(model.sweeps()) + " sweeps, more than " +
                    option_name("max_sweeps", std::to_string(max_sweeps)));
  }
  return found;
}

void check_resumed(const ModelFile& model, const TensorSummary& tensor, const CpdOptions& options) {
  const std::string name = options.resume.string();
  if (options.initial != nullptr)
    refuse("give " + option_name("initial") + " or " + option_name("resume") + ", not both");
  check_sweeps(model, options.resume);
  if (model.shape != tensor.shape) {
    refuse(name + ": the model to resume was fitted to a tensor of the shape " + shape_text(model.shape) +
           ", but this one has " + shape_text(tensor.shape) +
           "; if the tensor has grown since, start a new fit from the model by giving it as " + option_name("initial"));
  }
  if (!is_model_of(model, tensor))
    refuse(name + ": the model to resume was fitted to another tensor; to start from its factors, give it as " +
           option_name("initial"));
  if (!find_method(model.method)) {
    refuse(name + ": the model to resume was fitted by method " + quoted_for_message(model.method) +
           ", which this build does not have; to start from its factors, give it as " + option_name("initial"));
  }
  const std::vector<std::string> found = differences(model, options);
  if (found.empty()) return;
  std::string words;
  for (const std::string& difference : found) words += (words.empty() ? "" : "; ") + difference;
  refuse(name + ": the model to resume has " + words +
         "; give options that agree with it, or start from its factors by " + "giving it as " + option_name("initial"));
}

// The model is f64. Each factor moved into it frees the backend's copy, which is as large unless it is stored as f32.
std::uint64_t model_bytes_beyond_backend(const TensorSummary& tensor, const CpdOptions& options) {
  if (options.compute.precision == Precision::f64) return 0;
  std::uint64_t rows = 0;
  for (const std::uint64_t length : tensor.shape) rows += length;
  // A factor that is being converted is there in both forms. The output is freed before, and makes room for one of
  // them. An output in f64 is twice as large: its other half holds a part of the model.
  if (options.compute.precision == Precision::mixed) rows -= std::ranges::max(tensor.shape);
  return rows * static_cast<std::uint64_t>(options.rank) * sizeof(float);
}

}  // namespace

CpdOptions options_of_model(const std::filesystem::path& file) {
  const ModelFileReader reader(file);
  CpdModel model = without_factors(reader.header());
  model.method = fitted_by(reader.header(), "");
  CpdOptions options;
  options.method = method_of(model);
  take_kept(model.options, file, options);
  options.rank = model.rank;
  options.seed = model.seed;
  options.ridge = model.ridge;
  options.compute.precision = model.precision;
  options.momentum = is_with_momentum(reader.header());
  return options;
}

FitStart::FitStart(const TensorSummary& tensor, const CpdOptions& given) : options(given) {
  options.method = fitted_method(tensor, given.method);
  const bool finds_ridge = std::holds_alternative<CompletionMethod>(options.method);
  if (options.ridge == automatic_ridge && !finds_ridge) options.ridge = 0;
  if (!given.resume.empty()) {
    resumed = std::make_unique<ModelFileReader>(given.resume);
    check_resumed(resumed->header(), tensor, options);
    options.ridge = resumed->header().ridge;
    options.rank = static_cast<int>(resumed->header().rank);
    options.seed = resumed->header().seed;
    options.momentum = options.momentum.value_or(is_with_momentum(resumed->header()));
  } else if (given.rank == 0 && given.initial != nullptr) {
    options.rank = given.initial->rank;
  }
  check_options(tensor, options);
  // State says in which unit it is: that of the values where it says nothing, as in files of before.
  const bool has_state = resumed && !resumed->header().state_numbers.empty();
  value_exponent = has_state ? resumed->header().value_exponent : value_exponent_of(tensor, options.method);
  of_method = options;
  of_method.method = in_unit_of_fit(options.method, value_exponent);
}

JobNeeds fit_needs(const Tensor& given, const CpdOptions& options, const Account& held, const DeclaredGpu* declared) {
  const TensorSummary& tensor = given.summary();
  JobNeeds needs = needs_of(given, options.rank, options.compute.precision);
  const MethodNeeds of_method = method_needs(tensor, options);
  needs.value_exponent = value_exponent_of(tensor, options.method);
  needs.want_previous = of_method.undoes_steps && (options.on_progress || options.time_limit_seconds > 0);
  needs.backend.all_outputs = of_method.all_outputs;
  needs.backend.loss_passes = of_method.loss_passes;
  needs.any_rows = of_method.any_rows;
  needs.lbfgs = of_method.lbfgs;
  needs.passes_by_mode = of_method.passes_by_mode;
  needs.may_slab = true;
  needs.backend.dual_modes = of_method.dual_modes;
  needs.backend.vectors = of_method.vectors;
  if (has_momentum(options)) {
    needs.savings.insert(needs.savings.begin(), {.words = option_name("momentum", "off"), .term = "momentum"});
  }
  if (const auto* const gcp = std::get_if<GcpMethod>(&options.method); gcp != nullptr && sums_over_zeros(gcp->loss)) {
    const char* const smaller = gcp->loss.kind == LossKind::poisson ? "apr" : "als";
    needs.savings.push_back({.words = option_name("method", smaller), .term = "vectors of L-BFGS"});
  }
  needs.slot_bytes = of_method.slot_bytes;
  const std::uint64_t beyond_backend = model_bytes_beyond_backend(tensor, options);
  needs.caller.take_by_rank("the model", beyond_backend);
  needs.caller.take(of_method.host);
  needs.caller.take(held);
  if (of_method.reads_chunks) {
    const TensorSizes sizes = measure_tensor(TensorChunks::of(given));
    needs.caller.take("chunks that are read", sizes.largest_buffer() + sizes.largest_scratch());
  }
  for (const std::uint64_t bytes : tensor.label_bytes) needs.caller.take("labels", bytes);
  if (options.initial != nullptr) {
    for (const std::vector<double>& factor : options.initial->factors) {
      needs.caller.take_by_rank("the initial model", factor.size() * sizeof(double));
    }
    needs.caller.take("labels", memory_bytes(options.initial->labels));
  }
  // With factors of f32, half of the model is already counted as beyond the backend.
  const std::uint64_t model_bytes = factor_numbers(tensor, options.rank) * sizeof(double);
  if (samples_start(options)) {
    needs.caller.take_by_rank("initial factors", model_bytes);
    Compute ample = options.compute;
    ample.trace.clear();
    ample.memory.host_bytes = ample_bytes;
    needs.least_bytes = Job(given, ample, sampling_needs(given, options, held), declared).plan().minimum_bytes;
  }
  needs.model_bytes = std::max(needs.model_bytes, model_bytes - std::min(model_bytes, beyond_backend));
  return needs;
}

CpFit::CpFit(const Tensor& tensor, const FitStart& start, Job& job, std::unique_ptr<WorkerGroup> workers,
             ProgressMeter& meter, const ConstantModel& constant, OutputFiles* files)
    : SweepDriver({start.options, max_sweeps_of(start.options), files}, meter),
      nonzeros_(&tensor),
      tensor_(&tensor.summary()),
      start_(&start),
      options_(&start.options),
      job_(&job),
      meter_(&meter),
      constant_(constant),
      workers_(std::move(workers)),
      rows_(TensorChunks::of(tensor), workers_->factors(), start.options.rank, job.has_factors_on_device()) {
  describe_tensor(tensor, model_);
  model_.rank = options_->rank;
  model_.seed = options_->seed;
  model_.precision = options_->compute.precision;
  model_.ridge = options_->ridge;
  describe_method(*options_, model_);
  model_.options = kept_options(*options_);
  begin();
  if (!job.plan().keep_previous) meter_->defer_stops();
}

void CpFit::begin() {
  const std::vector<std::vector<double>>& sampled = start_->sampled;
  if (sampled.empty()) load_initial_factors(*tensor_, *options_, start_->resumed.get(), rows_);
  for (std::size_t n = 0; n < sampled.size(); ++n) rows_.load(static_cast<int>(n), 0, sampled[n]);
  rows_.release();
  method_ =
      make_method({*nonzeros_, start_->of_method, *workers_,
                   [this] { return meter_->poll() || meter_->stop_requested(); }, constant_, start_->value_exponent});
  if (start_->resumed) return restore_method(*start_->resumed);
  method_->start(options_->initial != nullptr ? times_power(options_->initial->weights, -start_->value_exponent)
                                              : std::vector<double>());
}

void CpFit::restore_method(const ModelFileReader& resumed) {
  const ModelFile& header = resumed.header();
  model_.fit_history = header.fit_history;
  model_.objective_history = header.objective_history;
  model_.explained = header.explained;
  model_.found_ridge = header.found_ridge;
  model_.weights = header.weights;
  model_.stop_reason = header.stop_reason;
  method_->start(times_power(model_.weights, -start_->value_exponent));
  if (header.state_numbers.empty()) return;
  ResumedState state(resumed, options_->resume);
  // Rows of the state are in the container's order.
  if (state.reordered_modes() != set_of_reordered_modes(*tensor_) && state.has_matrices()) {
    refuse(options_->resume.string() +
           ": the checkpoint was saved from a container whose indices are stored in another order; resume it with "
           "that one, or give it as " +
           option_name("initial"));
  }
  method_->restore(state);
}

CpdModel CpFit::run() {
  run_sweeps(*method_, model_, *workers_, tensor_->nnz * method_needs(*tensor_, *options_).passes_of_step);
  // Of the sweeps after that of the model nothing is left.
  if (const std::size_t sweep = method_->finish(); sweep > 0 && sweep < model_.objective_history.size()) {
    model_.objective_history.resize(sweep);
  }
  return_to_better_start();
  model_.weights = weights();
  // Frees the slots to make room for the model.
  method_.reset();
  workers_->end_passes();
  for (std::size_t n = 0; n < tensor_->shape.size(); ++n) {
    model_.factors.push_back(rows_.take(static_cast<int>(n)));
  }
  workers_.reset();
  if (!traits_of(options_->method).scales_columns) normalise_columns(model_);
  if (count_held(options_->method) == 0) arrange_components(model_);
  return std::move(model_);
}

std::vector<double> CpFit::weights() const { return times_power(method_->weights(), start_->value_exponent); }

double CpFit::objective_of_values(double of_fit) const {
  return blco::objective_of_values(of_fit, *tensor_, start_->of_method.method, start_->value_exponent, constant_);
}

void CpFit::return_to_better_start() {
  const std::optional<double> first = method_->first_objective();
  if (options_->initial == nullptr || !first || has_validation(options_->method)) return;
  // Rounding makes no model worse.
  const double rounding = options_->compute.precision == Precision::f64 ? 1e-10 : 1e-5;
  if (last_objective_ <= *first + rounding * std::abs(*first)) return;
  method_.reset();
  const StopReason reason = model_.stop_reason;
  begin();
  model_.stop_reason = reason;
  last_objective_ = *first;
  if (model_.explained) model_.explained = constant_.explained(*first);
  if (has_fit(options_->method)) {
    model_.fit_history.back() = 1 - std::sqrt(objective_of_values(*first) / tensor_->sum_of_squares);
  } else {
    model_.objective_history.back() = objective_of_values(*first);
  }
}

void CpFit::record(SweepReport& report) {
  last_objective_ = report.objective;
  report.objective = objective_of_values(report.objective);
  if (report.validation_error) {
    report.validation_error = std::ldexp(*report.validation_error, start_->value_exponent);
    if (report.held_out)
      report.held_out->model_error = std::ldexp(report.held_out->model_error, start_->value_exponent);
  }
  model_.found_ridge = method_->found_ridge();
  model_.explained = report.explained;
  if (!std::isfinite(report.objective)) {
    refuse("the objective of sweep " + std::to_string(report.sweep) +
           " is not a finite number: the values or the initial factors do not suit the loss, or are too large; scale "
           "them down, or use " +
           option_name("precision", "f64"));
  }
  if (!has_fit(options_->method)) {
    model_.objective_history.push_back(report.objective);
    return;
  }
  report.fit_change = report.fit - model_.fit();
  model_.fit_history.push_back(report.fit);
}

void CpFit::write_model(const std::filesystem::path& path, const OutputClaim* claim) {
  struct ReleaseRows {
    ~ReleaseRows() { rows.release(); }
    OriginalRows& rows;
  };
  const ReleaseRows at_end{rows_};
  model_.weights = weights();
  ModelFile file = describe_model(model_);
  const MethodState state = method_->state();
  if (!state.numbers.empty() || !state.matrices.empty()) {
    file.state_numbers = {set_of_reordered_modes(*tensor_)};
    file.state_numbers.insert(file.state_numbers.end(), state.numbers.begin(), state.numbers.end());
    file.state_matrices = state.matrices;
    file.value_exponent = start_->value_exponent;
  }
  ModelNumbers numbers;
  numbers.factor_rows = [this](std::size_t mode, std::uint64_t first_row, std::span<double> rows) {
    rows_.store(static_cast<int>(mode), first_row, rows);
  };
  numbers.state_rows = [this](std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<double> rows) {
    method_->store_rows(matrix, static_cast<int>(mode), first_row, rows);
  };
  write_model_file(path, file, numbers, claim);
}

}  // namespace blco
