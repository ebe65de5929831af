// Times the copies and kernels of one pass by events, and reports them when the pass has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/trace.hpp"
#include "kernels/cuda/device_memory.hpp"

namespace blco::cuda {

// Does nothing without a sink. Call from one thread.
class DeviceTrace {
 public:
  using Mark = std::size_t;

  explicit DeviceTrace(TraceSink* sink) : sink_(sink) {}

  // Sets time zero. Against the host's clock, times are off by the delay of this event on its way to the device.
  void begin_pass(cudaStream_t stream) {
    used_ = 0;
    spans_.clear();
    begin_ = std::chrono::steady_clock::now();
    mark(stream);
  }

  Mark mark(cudaStream_t stream) {
    if (sink_ == nullptr) return 0;
    if (used_ == events_.size()) events_.emplace_back(Event::Timing::on);
    events_[used_].record(stream);
    return used_++;
  }

  void add(std::string track, const char* name, std::uint64_t chunk, std::uint64_t bytes, Mark from, Mark to) {
    if (sink_ != nullptr) spans_.push_back({std::move(track), name, chunk, bytes, from, to});
  }

  // Requires: all marks have passed.
  void report() {
    for (const Span& span : spans_) {
      sink_->add({span.track, span.name, time_of(span.from), time_of(span.to), span.chunk, span.bytes});
    }
    spans_.clear();
  }

 private:
  struct Span {
    std::string track;
    const char* name;
    std::uint64_t chunk;
    std::uint64_t bytes;
    Mark from;
    Mark to;
  };

  std::chrono::steady_clock::time_point time_of(Mark mark) const {
    const std::chrono::duration<double, std::milli> since(events_[mark].milliseconds_since(events_[0]));
    return begin_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(since);
  }

  TraceSink* sink_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<Event> events_;  // the first marks the beginning of the pass
  std::size_t used_ = 0;
  std::vector<Span> spans_;
};

}  // namespace blco::cuda
