// How far a job has come, and how to end it early.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace blco {

struct Progress {
  // "read", "sort", "merge", "write", "pack", "check", "start", "sweep", "pass", "core", "export", "predict",
  // "verify", "measure"
  const char* stage = "";
  int sweep = 0;               // sweep of a fit, from 1; else 0
  double share = -1;           // done part of the stage, 0 to 1; negative if its end is unknown
  std::uint64_t nonzeros = 0;  // done in this stage; a sweep counts them once per pass
  std::uint64_t bytes = 0;     // read from or written to disk in this stage
  double seconds = 0;          // since the stage began
};

// How long a stage of a job took.
struct StageTime {
  std::string stage;
  double seconds = 0;
};

// Called on the caller's thread at most about ten times a second, and at the end of every stage. Returning false ends
// the job: it drains what is in flight, leaves nothing on disk, and throws Error{cancelled} unless its own comment says
// otherwise. An exception thrown by the callback ends the job in the same way and reaches the caller.
using ProgressCallback = std::function<bool(const Progress&)>;

}  // namespace blco
