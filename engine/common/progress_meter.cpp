// Reports at intervals, and at the end of every stage.
#include "engine/common/progress_meter.hpp"

#include <algorithm>
#include <string>

#include "blco/error.hpp"

namespace blco {
namespace {

double share_of(std::uint64_t done, std::uint64_t all) {
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
}

}  // namespace

ProgressMeter::ProgressMeter(const ProgressCallback& callback, double time_limit_seconds,
                             std::chrono::milliseconds between_reports)
    : callback_(&callback), time_limit_seconds_(time_limit_seconds), between_reports_(between_reports) {}

void ProgressMeter::begin(const Stage& stage) {
  stage_ = stage;
  stage_.nonzeros = static_cast<std::uint64_t>(static_cast<double>(stage.nonzeros) * share_);
  stage_start_ = Clock::now();
  done_ = {.stage = stage.name, .sweep = stage.sweep};
  // Otherwise there may be nothing to report before the stage ends.
  if (stage.nonzeros == 0 && stage.bytes == 0) report(stage_start_);
}

void ProgressMeter::advance(std::uint64_t nonzeros, std::uint64_t bytes) {
  done_.nonzeros += nonzeros;
  done_.bytes += bytes;
  done_.share = stage_.nonzeros > 0 ? share_of(done_.nonzeros, stage_.nonzeros)
                : stage_.bytes > 0  ? share_of(done_.bytes, stage_.bytes)
                                    : -1;
  look();
  throw_if_stopped();
}

void ProgressMeter::look() {
  const Clock::time_point now = Clock::now();
  if (now >= next_report_) report(now);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (time_limit_seconds_ > 0 && seconds >= time_limit_seconds_) stop(StopReason::time);
}

bool ProgressMeter::poll() {
  if (std::this_thread::get_id() == thread_) look();
  return to_stop_ && !deferred_;
}

void ProgressMeter::end() {
  report_end();
  throw_if_stopped();
}

void ProgressMeter::report_end() {
  done_.share = 1;
  const Clock::time_point now = Clock::now();
  stage_times_.push_back({stage_.name, std::chrono::duration<double>(now - stage_start_).count()});
  report(now);
}

void ProgressMeter::report(Clock::time_point now) {
  next_report_ = now + between_reports_;
  if (!*callback_) return;
  done_.seconds = std::chrono::duration<double>(now - stage_start_).count();
  if (!(*callback_)(done_)) stop(StopReason::cancelled);
}

void ProgressMeter::throw_if_stopped() const {
  if (to_stop_ && !deferred_) throw Error(ErrorKind::cancelled, stop_message());
}

std::string ProgressMeter::stop_message() const {
  if (reason_ == StopReason::time) return "the time limit was reached";
  return std::string("cancelled in the stage \"") + stage_.name + "\"";
}

// The first reason is kept.
void ProgressMeter::stop(StopReason reason) {
  if (!to_stop_) reason_ = reason;
  to_stop_ = true;
}

}  // namespace blco
