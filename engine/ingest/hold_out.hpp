// Parts the cells of a tensor in those that are held out and the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/labels.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sort/run_store.hpp"
#include "engine/ingest/sort/sorted_run.hpp"

namespace blco {

// Passes on the nonzeros of another source, without those that are held out; these wait on disk. A hash of a cell's
// labels, or of its coordinates where there are no labels, decides: so the parts do not depend on the order of the
// input, nor on other cells. Requires: stored indices that are those of the input.
class HoldOut final : public SortedSource {
 public:
  // About `share` of all cells, above 0 and below 1, are held out. They go to a file in `folder`, its name containing
  // `mark`. `layout` and `executor` must outlive this. Throws Error{io}.
  HoldOut(std::unique_ptr<SortedSource> source, double share, const TensorLayout& layout, std::vector<Labels> labels,
          const std::filesystem::path& folder, const std::string& mark, Executor& executor);

  // Throws as the source does, Error{io}, and at the end Error{invalid_argument} if one of the parts has no nonzero.
  bool next(SortedPart& part, std::size_t max_count) override;

  // After the end, once: the nonzeros that are held out. The result must not outlive this.
  std::unique_ptr<SortedSource> take_held_out();
  std::uint64_t left_out() const override { return held_count_; }

  // Memory beside the source and the parts.
  static std::uint64_t memory_bytes(bool has_high_word);

 private:
  bool refill();
  void choose(std::size_t first, std::size_t last);
  void hold(std::size_t at);
  void store_held();
  void check_parts() const;

  std::unique_ptr<SortedSource> source_;
  double share_;
  const TensorLayout& layout_;
  std::vector<Labels> labels_;
  Executor& executor_;
  RunStore store_;
  SortedPart window_;          // of the source
  std::vector<char> is_held_;  // per nonzero of the window
  std::size_t at_ = 0;         // in the window
  SortedBatch held_;           // not yet stored
  std::uint64_t count_ = 0;    // of all nonzeros so far
  std::uint64_t held_count_ = 0;
};

}  // namespace blco
