// The public fit: plan, backend, sweeps, model.
#include <algorithm>
#include <blco/cpd.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "blco/error.hpp"
#include "engine/cp_als.hpp"
#include "engine/cpd_job.hpp"
#include "engine/streamer.hpp"

namespace blco {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

std::uint64_t matrix_bytes(std::span<const std::vector<double>> matrices) {
  std::uint64_t bytes = 0;
  for (const std::vector<double>& matrix : matrices) bytes += matrix.size() * sizeof(double);
  return bytes;
}

// The model is f64. Each factor that enters it frees one of the backend's, which is as large unless it is f32.
std::uint64_t model_bytes_beyond_backend(const TensorSummary& tensor, const CpdOptions& options) {
  if (options.arithmetic == Arithmetic::f64) return 0;
  std::uint64_t bytes = 0;
  for (const std::uint64_t length : tensor.shape)
    bytes += length * static_cast<std::uint64_t>(options.rank) * sizeof(float);
  return bytes;
}

StopReason run_sweeps(CpAls& als, const Streamer& streamer, const CpdOptions& options, CpdModel& model) {
  for (int sweep = 1;; ++sweep) {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t bytes_before = streamer.bytes_read();
    SweepReport report;
    report.sweep = sweep;
    report.fit = als.run_sweep(static_cast<std::uint64_t>(sweep - 1));
    report.fit_change = report.fit - model.fit();
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.bytes_read = streamer.bytes_read() - bytes_before;
    model.fit_history.push_back(report.fit);
    if (options.on_sweep && !options.on_sweep(report)) return StopReason::cancelled;
    if (sweep > 1 && std::abs(report.fit_change) < options.tolerance) return StopReason::tolerance;
    if (sweep == options.max_sweeps) return StopReason::sweeps;
  }
}

JobRequest fit_request(const TensorSummary& tensor, const CpdOptions& options) {
  JobRequest request;
  request.caller_bytes = model_bytes_beyond_backend(tensor, options);
  if (options.initial != nullptr) request.caller_bytes += matrix_bytes(options.initial->factors);
  for (const std::uint64_t length : tensor.shape) {
    request.model_bytes += length * static_cast<std::uint64_t>(options.rank) * sizeof(double);
  }
  // Of the model in f32 half is counted as beyond the backend already.
  request.model_bytes -= std::min(request.model_bytes, model_bytes_beyond_backend(tensor, options));
  return request;
}

}  // namespace

CpdPlan plan_cpd(const TensorFile& tensor, const MemoryBudget& budget, const CpdOptions& options,
                 const DeclaredGpu* declared) {
  check_options(tensor.summary(), options);
  JobRequest request = fit_request(tensor.summary(), options);
  request.declared = declared;
  CpdOptions untraced = options;
  untraced.trace.clear();
  return CpdJob(tensor, budget, untraced, request).describe();
}

CpdModel fit_cpd(const TensorFile& tensor, const MemoryBudget& budget, const CpdOptions& options) {
  const TensorSummary& summary = tensor.summary();
  check_options(summary, options);
  CpdJob job(tensor, budget, options, fit_request(summary, options));
  Backend& backend = job.backend();
  if (options.on_plan) options.on_plan(job.describe());
  load_initial_factors(summary, options, backend);

  CpdModel model;
  model.shape = summary.shape;
  model.rank = options.rank;
  model.mode_names = summary.mode_names;
  model.seed = options.seed;
  {
    Streamer streamer(tensor.reader(), job.plan(), backend, job.trace());
    CpAls als(backend, streamer, static_cast<int>(summary.shape.size()), options.rank, summary.sum_of_squares);
    model.stop_reason = run_sweeps(als, streamer, options, model);
    model.weights = als.weights();
  }
  for (std::size_t n = 0; n < summary.shape.size(); ++n) {
    model.factors.push_back(backend.take_factor(static_cast<int>(n)));
  }
  job.close_trace();
  return model;
}

std::vector<double> mttkrp(const TensorFile& tensor, std::span<const std::vector<double>> factors, int rank, int mode,
                           const MemoryBudget& budget, const CpdOptions& options) {
  const TensorSummary& summary = tensor.summary();
  CpdOptions fixed = options;
  fixed.rank = rank;
  fixed.initial = nullptr;
  check_options(summary, fixed);
  const std::size_t order = summary.shape.size();
  if (mode < 0 || static_cast<std::size_t>(mode) >= order) {
    refuse("mode " + std::to_string(mode) + " does not exist; the tensor has " + std::to_string(order));
  }
  if (factors.size() != order) refuse("mttkrp takes one factor per mode");
  for (std::size_t n = 0; n < order; ++n) {
    const bool whole = factors[n].size() == summary.shape[n] * static_cast<std::uint64_t>(rank);
    if (!whole && static_cast<int>(n) != mode) {
      refuse("factor " + std::to_string(n) + " is not a matrix of " + std::to_string(summary.shape[n]) + " x " +
             std::to_string(rank));
    }
  }
  const std::uint64_t output_size = summary.shape[static_cast<std::size_t>(mode)] * static_cast<std::uint64_t>(rank);
  JobRequest request;
  request.caller_bytes = matrix_bytes(factors) + output_size * sizeof(double);
  request.keep_chunks = false;
  CpdJob job(tensor, budget, fixed, request);
  for (std::size_t n = 0; n < order; ++n) {
    if (static_cast<int>(n) != mode) job.backend().load_factor(static_cast<int>(n), 0, factors[n]);
  }
  Streamer streamer(tensor.reader(), job.plan(), job.backend(), job.trace());
  streamer.pass(mode, Direction::forward);
  std::vector<double> output(output_size);
  job.backend().read_output(output);
  job.close_trace();
  return output;
}

}  // namespace blco
