// A tree of losers (Knuth, volume 3, section 5.4.1) over the heads of the runs.
#include "engine/merged_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace blco {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

class MergedRuns::Merger {
 public:
  virtual ~Merger() = default;
  virtual bool next(SortedBatch& block) = 0;
};

// `Line` holds a whole line index.
template <class Line>
class MergedRuns::LoserTree final : public Merger {
  static constexpr bool is_wide = !std::is_same_v<Line, std::uint64_t>;

 public:
  explicit LoserTree(std::vector<std::unique_ptr<SortedRun>> runs) {
    for (std::unique_ptr<SortedRun>& run : runs) sources_.push_back({std::move(run), {}, 0});
    const std::size_t count = sources_.size();
    std::vector<Head> winners(2 * count);
    for (std::size_t r = 0; r < count; ++r) winners[count + r] = head_of(r);
    losers_.resize(count);
    for (std::size_t node = count - 1; node >= 1; --node) {
      const bool left = is_before(winners[2 * node], winners[2 * node + 1]);
      winners[node] = winners[2 * node + (left ? 0 : 1)];
      losers_[node] = winners[2 * node + (left ? 1 : 0)];
    }
    winner_ = winners[1];
  }

  bool next(SortedBatch& block) override {
    block.low.resize(run_block_entries);
    block.key.resize(is_wide ? run_block_entries : 0);
    block.values.resize(run_block_entries);
    std::size_t filled = 0;
    while (filled < run_block_entries && winner_.run < sources_.size()) {
      Source& source = sources_[winner_.run];
      block.low[filled] = static_cast<std::uint64_t>(winner_.line);
      if constexpr (is_wide) block.key[filled] = static_cast<std::uint64_t>(winner_.line >> 64);
      block.values[filled] = source.block.values[source.at - 1];
      ++filled;
      replay(winner_.run);
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
    std::size_t at;  // behind the entry that is in the tree
  };

  // A run that has ended has the largest line, and a number beyond those of all others.
  struct Head {
    Line line;
    std::size_t run;
  };

  static bool is_before(const Head& a, const Head& b) { return a.line < b.line || (a.line == b.line && a.run < b.run); }

  // Takes the next entry of the run.
  Head head_of(std::size_t run) {
    Source& source = sources_[run];
    if (source.at == source.block.count()) {
      source.at = 0;
      if (!source.run->next(source.block)) return {static_cast<Line>(~Line{0}), sources_.size() + run};
    }
    const std::size_t at = source.at++;
    if constexpr (is_wide) {
      return {Line{source.block.key[at]} << 64 | source.block.low[at], run};
    } else {
      return {source.block.low[at], run};
    }
  }

  // From the leaf of the run whose entry has left, up to the root.
  void replay(std::size_t run) {
    Head rising = head_of(run);
    for (std::size_t node = (sources_.size() + run) / 2; node >= 1; node /= 2) {
      Head& loser = losers_[node];
      const bool falls = is_before(loser, rising);
      const Head stays = falls ? rising : loser;
      rising = falls ? loser : rising;
      loser = stays;
    }
    winner_ = rising;
  }

  std::vector<Source> sources_;
  std::vector<Head> losers_;
  Head winner_;
};

MergedRuns::MergedRuns(std::vector<std::unique_ptr<SortedRun>> runs, bool has_key) {
  if (has_key) {
    merger_ = std::make_unique<LoserTree<Wide>>(std::move(runs));
  } else {
    merger_ = std::make_unique<LoserTree<std::uint64_t>>(std::move(runs));
  }
}

MergedRuns::~MergedRuns() = default;

bool MergedRuns::next(SortedBatch& block) { return merger_->next(block); }

}  // namespace blco
