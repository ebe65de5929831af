// Reports rank-deficient normal equations for blco-cpd.
#pragma once

#include <blco/cpd.hpp>
#include <vector>

#include "tools/programs/reporter.hpp"

namespace blco::cli {

class RankNote {
 public:
  void add(const SweepReport& report) { system_ranks_.push_back(report.system_ranks); }
  // Prints one line per mode with deficient equations: the lowest rank seen, and in how many sweeps.
  void print(Reporter& reporter, int rank) const;

 private:
  std::vector<std::vector<int>> system_ranks_;  // per sweep, per mode
};

}  // namespace blco::cli
