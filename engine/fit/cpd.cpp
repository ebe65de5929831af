// The public functions of cpd.hpp.
#include <algorithm>
#include <blco/cpd.hpp>
#include <numeric>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/cp_fit.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/output_room.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/original_rows.hpp"
#include "io/container/model_file.hpp"

namespace blco {
namespace {

CpdPlan describe_fit(const Job& job, const TensorSummary& tensor, const CpdOptions& options) {
  CpdPlan plan = job.describe();
  plan.stops_after_pass = method_needs(tensor, options).stops_after_pass;
  if (options.initial != nullptr) {
    plan.new_rows = count_new_rows(tensor, *options.initial);
    plan.outside_box = count_outside_box(tensor, options);
  }
  return plan;
}

void check_gpu(const DeclaredGpu* gpu) {
  if (gpu != nullptr && gpu->multiprocessors < 1) refuse("a declared GPU has at least one multiprocessor");
}

}  // namespace

void check_model_room(const TensorSummary& tensor, const CpdOptions& options) {
  const std::uint64_t label_bytes =
      std::accumulate(tensor.label_bytes.begin(), tensor.label_bytes.end(), std::uint64_t{0});
  const auto rank = static_cast<std::uint64_t>(options.rank);
  const std::vector<std::uint64_t> columns(tensor.shape.size(), rank);
  const std::uint64_t bytes = model_file_bytes(tensor.shape, columns, rank, label_bytes);
  const std::uint64_t checkpoint_bytes =
      model_file_bytes(tensor.shape, columns, rank, label_bytes, method_needs(tensor, options).state_matrices);
  check_output_room(options.output, bytes, options.checkpoint, checkpoint_bytes,
                    max_sweeps_of(options) > options.checkpoint_sweeps);
}

CpdPlan plan_cpd(const Tensor& tensor, const CpdOptions& options, const DeclaredGpu* declared) {
  return plan_fit(tensor, options, declared, {});
}

CpdPlan plan_fit(const Tensor& tensor, const CpdOptions& options, const DeclaredGpu* declared, const Account& held) {
  check_gpu(declared);
  CpdOptions untraced = FitStart(tensor.summary(), options).options;
  untraced.compute.trace.clear();
  if (options.initial != nullptr) check_initial_labels(tensor, options.initial->labels);
  const JobNeeds needs = fit_needs(tensor, untraced, held, declared);
  Job job(tensor, untraced.compute, needs, declared);
  job.plan_alone();
  return describe_fit(job, tensor.summary(), untraced);
}

CpdModel fit_cpd(const Tensor& tensor, const CpdOptions& options) {
  OutputFiles files({options.output, options.checkpoint});
  CpdModel model = run_fit(tensor, options, {}, files);
  files.save(model, options.output);
  return model;
}

CpdModel run_fit(const Tensor& tensor, const CpdOptions& options, const Account& held, OutputFiles& files) {
  ProgressMeter meter(options.on_progress, options.time_limit_seconds);
  FitStart start(tensor.summary(), options);
  if (options.initial != nullptr) check_initial_labels(tensor, options.initial->labels);
  std::vector<std::filesystem::path> inputs = {tensor.summary().file};
  if (const auto* completion = std::get_if<CompletionMethod>(&options.method); completion && completion->validation) {
    inputs.push_back(completion->validation->summary().file);
  }
  refuse_inputs_as_outputs(inputs, {options.output, options.checkpoint, options.compute.trace});
  JobNeeds needs = fit_needs(tensor, start.options, held);
  needs.value_exponent = start.value_exponent;  // of a checkpoint its own
  needs.backend.stop = [&meter] { return meter.poll(); };
  Job job(tensor, start.options.compute, needs);
  check_model_room(tensor.summary(), start.options);
  // Before the backend, so that all may use the same memory.
  const ConstantModel constant = check_entries(tensor, start.of_method, start.value_exponent, meter);
  if (samples_start(start.options)) start.sampled = sample_initial_factors(tensor, start.options, held, meter);
  std::unique_ptr<WorkerGroup> workers = job.make_workers(&meter);
  if (options.on_plan) options.on_plan(describe_fit(job, tensor.summary(), start.options));
  CpFit fit(tensor, start, job, std::move(workers), meter, constant, &files);
  start.sampled.clear();
  CpdModel model = fit.run();
  job.close_trace();
  return model;
}

std::vector<double> mttkrp(const Tensor& tensor, std::span<const MatrixView> factors, int mode, const Compute& compute,
                           const ProgressCallback& on_progress) {
  ProgressMeter meter(on_progress, 0);
  const TensorSummary& summary = tensor.summary();
  const std::size_t order = summary.shape.size();
  if (mode < 0 || static_cast<std::size_t>(mode) >= order) {
    refuse("mode " + std::to_string(mode) + " does not exist: the tensor has " + std::to_string(order) +
           " modes, counted from 0");
  }
  const int rank = check_factors(summary, factors, mode);
  check_rank(rank);
  const std::uint64_t output_size = summary.shape[static_cast<std::size_t>(mode)] * static_cast<std::uint64_t>(rank);
  JobNeeds needs = needs_of(tensor, rank, compute.precision);
  needs.caller.take_by_rank("the product", output_size * sizeof(double));
  for (const MatrixView& factor : factors) {
    needs.caller.take_by_rank("the factors that are given", factor.numbers().size_bytes());
  }
  needs.best_tier = Tier::streamed;
  needs.passes_by_mode = true;
  needs.may_slab = true;
  needs.backend.stop = [&meter] { return meter.poll(); };
  Job job(tensor, compute, needs);
  const std::unique_ptr<WorkerGroup> workers = job.make_workers(&meter);
  OriginalRows rows(TensorChunks::of(tensor), workers->factors(), rank, job.has_factors_on_device());
  for (std::size_t n = 0; n < order; ++n) {
    if (static_cast<int>(n) != mode) rows.load(static_cast<int>(n), 0, factors[n].numbers());
  }
  meter.begin({.name = "pass", .nonzeros = summary.nnz});
  workers->pass(mode);
  meter.end();
  std::vector<double> output(output_size);
  workers->factors().read_output(mode, 0, output);
  rows.reorder(mode, output);
  job.close_trace();
  return output;
}

}  // namespace blco
