// The stages of ingest, as a caller's progress callback hears of them.
#pragma once

#include <blco/error.hpp>
#include <blco/progress.hpp>
#include <chrono>
#include <cstdint>
#include <string>

namespace blco {

// A callback that says no ends the job by Error{cancelled}.
class IngestProgress {
 public:
  explicit IngestProgress(const ProgressCallback& callback) : callback_(&callback) {}

  void begin(const char* stage) {
    progress_ = {};
    progress_.stage = stage;
    began_ = last_ = Clock::now();
  }

  // Passed on some ten times a second at most.
  void update(std::uint64_t nonzeros, std::uint64_t bytes, double share) {
    progress_.nonzeros = nonzeros;
    progress_.bytes = bytes;
    progress_.share = share;
    if (Clock::now() - last_ >= std::chrono::milliseconds(100)) call();
  }

  void end() {
    progress_.share = 1;
    call();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void call() {
    last_ = Clock::now();
    if (!*callback_) return;
    progress_.seconds = std::chrono::duration<double>(last_ - began_).count();
    if (!(*callback_)(progress_)) {
      throw Error(ErrorKind::cancelled, std::string("ingest was cancelled by its caller in the stage \"") +
                                            progress_.stage + "\"; nothing was written");
    }
  }

  const ProgressCallback* callback_;
  Progress progress_;
  Clock::time_point began_;
  Clock::time_point last_;
};

}  // namespace blco
