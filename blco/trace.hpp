// How the rooms report their reads, copies and kernels to a trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace blco {

// One span of time on one track. A track is a row of the trace: "reader 0", "copy 1", "kernel 1", "caller".
struct TraceSpan {
  std::string_view track;
  std::string_view name;  // what was done: "read", "copy", "mttkrp"
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  std::uint64_t chunk = 0;
  std::uint64_t bytes = 0;  // 0: none moved
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  // Called from any thread, possibly long after the span ended. Copies what it keeps. Does not throw.
  virtual void add(const TraceSpan& span) noexcept = 0;
};

}  // namespace blco
