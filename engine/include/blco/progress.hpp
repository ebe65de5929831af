// How far a job has come, and the way to end it early.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace blco {

struct Progress {
  const char* stage = "";      // "read", "sort", "merge", "write", "pack", "sweep", "export", "verify", "measure"
  int sweep = 0;               // of a fit, from 1; else 0
  double share = -1;           // of the stage, 0 to 1; negative where the end is not known
  std::uint64_t nonzeros = 0;  // in this stage so far; of a sweep, once per mode
  std::uint64_t bytes = 0;     // read from, or written to, disk in this stage so far
  double seconds = 0;          // since the stage began
};

// How long a stage of a job took.
struct StageTime {
  std::string stage;
  double seconds = 0;
};

// Called on the caller's thread, some ten times a second at most and at the end of every stage. False ends the job:
// what was under way is drained, nothing is left on disk, and the job throws Error{cancelled} unless it says otherwise.
// What a callback throws ends the job likewise, and comes out of it.
using ProgressCallback = std::function<bool(const Progress&)>;

}  // namespace blco
