// How long a measurement of what a machine does at most may take.
#pragma once

namespace blco {

// The best repeat counts: whatever else runs on the machine only takes time away.
struct PeakEffort {
  double seconds = 0.03;  // of one repeat, at least
  int repeats = 7;
};

}  // namespace blco
