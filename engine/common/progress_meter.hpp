// Counts what a job has done, tells its caller now and then, and ends it where the caller or the clock says so.
#pragma once

#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <chrono>
#include <cstdint>
#include <vector>

namespace blco {

class ProgressMeter {
 public:
  // `callback` may be empty, and must outlive this. The clock runs from here on; no limit where `time_limit_seconds` is
  // 0.
  explicit ProgressMeter(const ProgressCallback& callback, double time_limit_seconds = 0,
                         std::chrono::milliseconds between_reports = std::chrono::milliseconds(100));

  // What a stage will do in all, where that is known: its share is that of nonzeros, or else of bytes. Where neither
  // is, the caller is told of its beginning too.
  struct Stage {
    const char* name = "";
    int sweep = 0;
    std::uint64_t nonzeros = 0;
    std::uint64_t bytes = 0;
  };
  void begin(const Stage& stage);
  // What was done since the last call. Throws Error{cancelled} once the job is to stop, unless stops are deferred.
  void advance(std::uint64_t nonzeros, std::uint64_t bytes);
  // Tells the caller, in any case, that all of the stage is done. Throws likewise.
  void end();
  // The same where the stage counts although the job is to stop.
  void report_end();

  // From here on advance() only remembers that the job is to stop.
  void defer_stops() { deferred_ = true; }
  bool stop_requested() const { return to_stop_; }
  // Those that have ended.
  const std::vector<StageTime>& stage_times() const { return stage_times_; }
  // cancelled or time, once it is to stop.
  StopReason reason() const { return reason_; }

 private:
  using Clock = std::chrono::steady_clock;

  void throw_if_stopped() const;
  void report(Clock::time_point now);
  void stop(StopReason reason);

  const ProgressCallback* callback_;
  double time_limit_seconds_;
  std::chrono::milliseconds between_reports_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point stage_start_ = start_;
  Clock::time_point next_report_ = start_;
  Stage stage_;
  std::vector<StageTime> stage_times_;
  Progress done_;
  bool deferred_ = false;
  bool to_stop_ = false;
  StopReason reason_ = StopReason::cancelled;
};

}  // namespace blco
