// Takes the smallest head of all runs, again and again.
#include "engine/ingest/sort/merged_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/ingest/sort/loser_tree.hpp"

namespace blco {

class MergedRuns::Merger {
 public:
  virtual ~Merger() = default;
  virtual bool next(SortedBatch& block) = 0;
};

// `Line` holds a whole line index.
template <class Line>
class MergedRuns::TreeMerger final : public Merger {
  static constexpr bool is_wide = !std::is_same_v<Line, std::uint64_t>;

 public:
  explicit TreeMerger(std::vector<std::unique_ptr<SortedRun>> runs)
      : sources_(make_sources(std::move(runs))), tree_(sources_.size(), take()) {}

  bool next(SortedBatch& block) override {
    block.low.resize(run_block_entries);
    block.key.resize(is_wide ? run_block_entries : 0);
    block.values.resize(run_block_entries);
    std::size_t filled = 0;
    for (; filled < run_block_entries && !tree_.is_at_end(); ++filled) {
      const Source& source = sources_[tree_.sequence()];
      block.low[filled] = static_cast<std::uint64_t>(tree_.line());
      if constexpr (is_wide) block.key[filled] = static_cast<std::uint64_t>(tree_.line() >> 64);
      block.values[filled] = source.block.values[source.at - 1];
      tree_.advance(take());
    }
    block.low.resize(filled);
    block.key.resize(is_wide ? filled : 0);
    block.values.resize(filled);
    return filled > 0;
  }

 private:
  struct Source {
    std::unique_ptr<SortedRun> run;
    SortedBatch block;
    std::size_t at = 0;  // behind the entry that is in the tree
  };

  static std::vector<Source> make_sources(std::vector<std::unique_ptr<SortedRun>> runs) {
    std::vector<Source> sources;
    for (std::unique_ptr<SortedRun>& run : runs) sources.push_back({std::move(run), {}, 0});
    return sources;
  }

  // Takes the next entry of a run.
  auto take() {
    return [this](std::size_t run) -> std::optional<Line> {
      Source& source = sources_[run];
      if (source.at == source.block.count()) {
        source.at = 0;
        if (!source.run->next(source.block)) return std::nullopt;
      }
      const std::size_t at = source.at++;
      if constexpr (is_wide) {
        return Line{source.block.key[at]} << 64 | source.block.low[at];
      } else {
        return source.block.low[at];
      }
    };
  }

  std::vector<Source> sources_;
  LoserTree<Line> tree_;
};

MergedRuns::MergedRuns(std::vector<std::unique_ptr<SortedRun>> runs, bool has_key) {
  if (has_key) {
    merger_ = std::make_unique<TreeMerger<WideLine>>(std::move(runs));
  } else {
    merger_ = std::make_unique<TreeMerger<std::uint64_t>>(std::move(runs));
  }
}

MergedRuns::~MergedRuns() = default;

bool MergedRuns::next(SortedBatch& block) { return merger_->next(block); }

}  // namespace blco
