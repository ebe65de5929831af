// The public fit: plan, backend, sweeps, model.
#include <algorithm>
#include <blco/cpd.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "engine/cp_als.hpp"
#include "engine/initial_factors.hpp"
#include "engine/memory.hpp"
#include "engine/planner.hpp"
#include "engine/streamer.hpp"
#include "engine/thread_pool.hpp"
#include "io/container_reader.hpp"
#include "kernels/host_backend.hpp"

namespace blco {
namespace {

constexpr int max_rank = 4096;
constexpr std::uint64_t initial_block_bytes = std::uint64_t{1} << 20;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

void check_options(const TensorSummary& tensor, const CpdOptions& options) {
  if (options.rank < 1 || options.rank > max_rank) {
    refuse("the rank must be from 1 to " + std::to_string(max_rank) + ", not " + std::to_string(options.rank));
  }
  if (options.max_sweeps < 1) refuse("the number of iterations must be at least 1");
  if (!(options.tolerance >= 0)) refuse("the tolerance must be a number from 0 up");
  if (options.device == Device::cuda) {
    throw Error(ErrorKind::not_built, "this build has no CUDA backend; use --device cpu or auto");
  }
  if (options.initial == nullptr) return;
  if (options.initial->rank != options.rank) {
    refuse("the initial model has rank " + std::to_string(options.initial->rank) + ", but rank " +
           std::to_string(options.rank) + " is asked for");
  }
  if (options.initial->shape != tensor.shape) refuse("the initial model belongs to a tensor of another shape");
  if (options.initial->factors.size() != tensor.shape.size()) refuse("the initial model has not one factor per mode");
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    const std::vector<double>& factor = options.initial->factors[n];
    const bool whole = factor.size() == tensor.shape[n] * static_cast<std::uint64_t>(options.rank);
    if (!whole || !std::all_of(factor.begin(), factor.end(), [](double x) { return std::isfinite(x); })) {
      refuse("factor " + std::to_string(n) +
             " of the initial model is not a matrix of finite numbers of the right size");
    }
  }
}

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

// What a job holds from its plan to its end.
struct Job {
  Job(const TensorFile& file, const MemoryBudget& budget, const CpdOptions& options, std::uint64_t caller_bytes,
      bool keep_chunks)
      : pool(options.threads), config{TensorLayout(file.summary().shape)} {
    config.rank = options.rank;
    config.precision = options.arithmetic == Arithmetic::f32 ? Precision::f32 : Precision::f64;
    PlanRequest request{config};
    request.budget_bytes = host_budget(budget.host_bytes);
    request.threads = pool.width();
    request.keep_chunks = keep_chunks;
    request.caller_bytes = caller_bytes;
    plan = make_plan(file.reader(), request);
    config.private_bytes = plan.private_bytes;
    budget_bytes = request.budget_bytes;
    backend = make_host_backend(config, pool);
  }

  ThreadPool pool;
  BackendConfig config;
  Plan plan;
  std::uint64_t budget_bytes = 0;
  std::unique_ptr<Backend> backend;
};

CpdPlan describe(const Job& job) {
  CpdPlan plan;
  plan.device = job.backend->name();
  plan.threads = job.pool.width();
  plan.chunk_count = job.plan.tiers.size();
  for (const Tier tier : job.plan.tiers) {
    plan.decoded_chunks += tier == Tier::decoded ? 1 : 0;
    plan.packed_chunks += tier == Tier::packed ? 1 : 0;
    plan.streamed_chunks += tier == Tier::streamed ? 1 : 0;
  }
  plan.budget_bytes = job.budget_bytes;
  plan.planned_bytes = job.plan.planned_bytes;
  plan.minimum_bytes = job.plan.minimum_bytes;
  plan.disk_bytes_per_pass = job.plan.disk_bytes_per_pass;
  return plan;
}

// In blocks of rows, so that no second copy of a factor is needed.
void load_initial_factors(const TensorSummary& tensor, const CpdOptions& options, Backend& backend) {
  const auto rank = static_cast<std::uint64_t>(options.rank);
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, initial_block_bytes / (rank * sizeof(double)));
  std::vector<double> block;
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    const int mode = static_cast<int>(n);
    if (options.initial != nullptr) {
      backend.load_factor(mode, 0, options.initial->factors[n]);
      continue;
    }
    for (std::uint64_t first = 0; first < tensor.shape[n]; first += block_rows) {
      block.resize(std::min(block_rows, tensor.shape[n] - first) * rank);
      fill_initial_rows(options.seed, mode, first, options.rank, block);
      backend.load_factor(mode, first, block);
    }
  }
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

}  // namespace

CpdModel fit_cpd(const TensorFile& tensor, const MemoryBudget& budget, const CpdOptions& options) {
  const TensorSummary& summary = tensor.summary();
  check_options(summary, options);
  std::uint64_t caller_bytes = model_bytes_beyond_backend(summary, options);
  if (options.initial != nullptr) caller_bytes += matrix_bytes(options.initial->factors);
  Job job(tensor, budget, options, caller_bytes, /*keep_chunks=*/true);
  if (options.on_plan) options.on_plan(describe(job));
  load_initial_factors(summary, options, *job.backend);

  CpdModel model;
  model.shape = summary.shape;
  model.rank = options.rank;
  model.mode_names = summary.mode_names;
  model.seed = options.seed;
  {
    Streamer streamer(tensor.reader(), job.plan, *job.backend);
    CpAls als(*job.backend, streamer, static_cast<int>(summary.shape.size()), options.rank, summary.sum_of_squares);
    model.stop_reason = run_sweeps(als, streamer, options, model);
    model.weights = als.weights();
  }
  for (std::size_t n = 0; n < summary.shape.size(); ++n) {
    model.factors.push_back(job.backend->take_factor(static_cast<int>(n)));
  }
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
  Job job(tensor, budget, fixed, matrix_bytes(factors) + output_size * sizeof(double), /*keep_chunks=*/false);
  for (std::size_t n = 0; n < order; ++n) {
    if (static_cast<int>(n) != mode) job.backend->load_factor(static_cast<int>(n), 0, factors[n]);
  }
  Streamer streamer(tensor.reader(), job.plan, *job.backend);
  streamer.pass(mode, Direction::forward);
  std::vector<double> output(output_size);
  job.backend->read_output(output);
  return output;
}

}  // namespace blco
