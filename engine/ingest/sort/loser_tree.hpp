// Finds the smallest head of n sorted sequences by about log2(n) comparisons.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace blco {

// A line index of more than 64 bits.
__extension__ using WideLine = unsigned __int128;

// A tree of losers (Knuth, volume 3, section 5.4.1). Equal lines come in the order of their sequences.
template <class Line>
class LoserTree {
 public:
  // `head_of(sequence)` returns the next line of the sequence as std::optional<Line>, and nothing at its end.
  // Requires: at least one sequence.
  template <class HeadOf>
  LoserTree(std::size_t sequences, const HeadOf& head_of) : losers_(sequences) {
    std::vector<Head> winners(2 * sequences);
    for (std::size_t s = 0; s < sequences; ++s) winners[sequences + s] = make_head(s, head_of);
    for (std::size_t node = sequences - 1; node >= 1; --node) {
      const bool left = is_before(winners[2 * node], winners[2 * node + 1]);
      winners[node] = winners[2 * node + (left ? 0 : 1)];
      losers_[node] = winners[2 * node + (left ? 1 : 0)];
    }
    winner_ = winners[1];
  }

  bool is_at_end() const { return winner_.sequence >= losers_.size(); }
  std::size_t sequence() const { return winner_.sequence; }
  Line line() const { return winner_.line; }

  // Replaces the smallest head by the next line of its sequence. Requires: not is_at_end().
  template <class HeadOf>
  void advance(const HeadOf& head_of) {
    const std::size_t taken = winner_.sequence;
    Head rising = make_head(taken, head_of);
    for (std::size_t node = (losers_.size() + taken) / 2; node >= 1; node /= 2) {
      Head& loser = losers_[node];
      const bool falls = is_before(loser, rising);
      const Head stays = falls ? rising : loser;
      rising = falls ? loser : rising;
      loser = stays;
    }
    winner_ = rising;
  }

 private:
  // A sequence that has ended gets the largest line and a number above all others, so that it comes last.
  struct Head {
    Line line;
    std::size_t sequence;
  };

  static bool is_before(const Head& a, const Head& b) {
    return a.line < b.line || (a.line == b.line && a.sequence < b.sequence);
  }

  template <class HeadOf>
  Head make_head(std::size_t sequence, const HeadOf& head_of) const {
    const std::optional<Line> line = head_of(sequence);
    if (line) return {*line, sequence};
    return {static_cast<Line>(~Line{0}), losers_.size() + sequence};
  }

  std::vector<Head> losers_;
  Head winner_;
};

}  // namespace blco
