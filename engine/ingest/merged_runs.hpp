// Several runs as one, equal lines in the order of the runs.
#pragma once

#include <memory>
#include <vector>

#include "engine/ingest/sorted_run.hpp"

namespace blco {

class MergedRuns final : public SortedRun {
 public:
  // `runs` come in input order, at least one. Holds one block of each.
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
