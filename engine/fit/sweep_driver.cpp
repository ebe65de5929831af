#include "engine/fit/sweep_driver.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "engine/work/rows/in_step.hpp"

namespace blco {

void describe_tensor(const Tensor& tensor, ModelHeader& model) {
  const TensorSummary& summary = tensor.summary();
  model.shape = summary.shape;
  model.mode_names = summary.mode_names;
  model.labels = tensor.labels();
  model.reading = summary.reading;
  model.tensor_nnz = summary.nnz;
  model.tensor_sum_of_squares = summary.sum_of_squares;
}

SweepDriver::SweepDriver(SweepOptions options, ProgressMeter& meter) : options_(std::move(options)), meter_(&meter) {}

void SweepDriver::run_sweeps(FitMethod& method, ModelHeader& model, const WorkerGroup& workers,
                             std::uint64_t nonzeros) {
  method_ = &method;
  model_ = &model;
  // A resumed fit may already be complete.
  std::optional<StopReason> stop = model_->sweeps() == 0 ? std::nullopt : reason_to_end(nullptr);
  if (!stop) bytes_read_ = workers.bytes_read();
  while (!stop) stop = run_sweep(workers, nonzeros);
  model_->stop_reason = *stop;
  if (!options_.checkpoint.empty()) write_checkpoint();
}

std::optional<StopReason> SweepDriver::run_sweep(const WorkerGroup& workers, std::uint64_t nonzeros) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t passes_before = workers.passes();
  SweepReport report;
  report.sweep = static_cast<int>(model_->sweeps()) + 1;
  meter_->begin({.name = "sweep", .sweep = report.sweep, .nonzeros = nonzeros});
  try {
    method_->run_step(report);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled || !meter_->stop_requested()) throw;
    if (model_->sweeps() > 0) {
      method_->undo_step();
      return meter_->reason();
    }
    report.cut_short = true;
  }
  if (report.cut_short && model_->sweeps() == 0) {
    throw Error(ErrorKind::cancelled,
                meter_->stop_message() + " before the end of the first sweep, so there is no model");
  }
  report.converged = report.converged && !report.cut_short;
  meter_->report_end();
  report.passes = workers.passes() - passes_before;
  const std::uint64_t bytes_read = workers.bytes_read();
  report.bytes_read = bytes_read - std::exchange(bytes_read_, bytes_read);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record(report);
  const std::optional<StopReason> stop = reason_to_stop(report);
  const bool is_due = !options_.checkpoint.empty() && report.sweep % options_.checkpoint_sweeps == 0;
  if (is_due && !stop) {
    model_->stop_reason = StopReason::unfinished;
    write_checkpoint();
  }
  return stop;
}

std::optional<StopReason> SweepDriver::reason_to_stop(const SweepReport& report) const {
  if (options_.on_sweep && !options_.on_sweep(report)) return StopReason::cancelled;
  if (const std::optional<StopReason> end = reason_to_end(&report)) return end;
  if (meter_->stop_requested()) return meter_->reason();
  return std::nullopt;
}

std::optional<StopReason> SweepDriver::reason_to_end(const SweepReport* report) const {
  if (method_->has_converged(*model_, report)) return StopReason::tolerance;
  if (model_->sweeps() >= static_cast<std::size_t>(options_.max_sweeps)) return StopReason::sweeps;
  return std::nullopt;
}

// Losing a copy on disk is no reason to lose the fit.
void SweepDriver::write_checkpoint() {
  CheckpointReport report{.sweep = static_cast<int>(model_->sweeps()), .failure = {}};
  try {
    write_model(options_.checkpoint,
                options_.files == nullptr ? nullptr : options_.files->claim_of(options_.checkpoint));
  } catch (const OutOfStep&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cuda) throw;  // the rows themselves are lost
    report.failure = error;
  } catch (const std::bad_alloc&) {
    report.failure = Error(ErrorKind::out_of_memory, "the system has no more memory for the checkpoint");
  }
  if (options_.files != nullptr) options_.files->note_checkpoint(options_.checkpoint, !report.failure);
  if (options_.on_checkpoint) options_.on_checkpoint(report);
}

}  // namespace blco
