// Counts a job's work, reports it to the caller, and ends the job when the caller or the time limit says so.
#pragma once

#include <atomic>
#include <blco/progress.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "blco/stop_reason.hpp"

namespace blco {

class ProgressMeter {
 public:
  // The clock starts here; a `time_limit_seconds` of 0 means no limit. `callback` may be empty, and must outlive this.
  explicit ProgressMeter(const ProgressCallback& callback, double time_limit_seconds = 0,
                         std::chrono::milliseconds between_reports = std::chrono::milliseconds(100));

  // Total work of a stage, where known: its share is that of nonzeros, or else of bytes. If neither is known, its
  // beginning is reported too.
  struct Stage {
    const char* name = "";
    int sweep = 0;
    std::uint64_t nonzeros = 0;
    std::uint64_t bytes = 0;
  };
  void begin(const Stage& stage);
  // From the next stage on, the nonzeros counted are this share of those that begin() tells.
  void count_share(double share) { share_ = share; }
  // Adds the work since the last call. Throws Error{cancelled} once the job must stop, unless stops are deferred.
  void advance(std::uint64_t nonzeros, std::uint64_t bytes);
  // For work that cannot be counted: reports as advance() does, and returns true once the job must stop, unless stops
  // are deferred. On other threads than that of the constructor it only returns. Does not throw.
  bool poll();
  // Always reports that the whole stage is done. Throws as advance() does.
  void end();
  // Same, but never throws: the stage counts although the job must stop.
  void report_end();

  // From here on advance() only records that the job must stop.
  void defer_stops() { deferred_ = true; }
  bool stop_requested() const { return to_stop_; }
  // Times of the stages that have ended.
  const std::vector<StageTime>& stage_times() const { return stage_times_; }
  // Why the job must stop: cancelled or time.
  StopReason reason() const { return reason_; }
  // The same in words.
  std::string stop_message() const;

 private:
  using Clock = std::chrono::steady_clock;

  void throw_if_stopped() const;
  void look();
  void report(Clock::time_point now);
  void stop(StopReason reason);

  const ProgressCallback* callback_;
  double time_limit_seconds_;
  std::chrono::milliseconds between_reports_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point stage_start_ = start_;
  Clock::time_point next_report_ = start_;
  double share_ = 1;
  Stage stage_;
  std::vector<StageTime> stage_times_;
  Progress done_;
  bool deferred_ = false;
  std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> to_stop_ = false;
  StopReason reason_ = StopReason::cancelled;
};

}  // namespace blco
