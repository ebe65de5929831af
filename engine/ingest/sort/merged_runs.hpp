// Merges several runs into one on one thread; equal lines come in the order of the runs.
#pragma once

#include <memory>
#include <vector>

#include "engine/ingest/sort/sorted_run.hpp"

namespace blco {

class MergedRuns final : public SortedRun {
 public:
  // Keeps one block of each run in memory. Requires: at least one run, and runs in input order.
  MergedRuns(std::vector<std::unique_ptr<SortedRun>> runs, bool has_key);
  ~MergedRuns() override;

  bool next(SortedBatch& block) override;

 private:
  class Merger;
  template <class Line>
  class TreeMerger;

  std::unique_ptr<Merger> merger_;
};

}  // namespace blco
