// Numbers the words of one mode within a block, by first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace blco {

class BlockWords {
 public:
  BlockWords() : slots_(first_slots) {}

  std::uint32_t number_of(std::uint64_t word) {
    // Neighbouring rows often have the same day.
    if (!words_.empty() && word == words_[last_]) return last_;
    std::size_t at = place_of(word);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (words_[slots_[at] - 1] == word) return last_ = slots_[at] - 1;
    }
    words_.push_back(word);
    last_ = static_cast<std::uint32_t>(words_.size()) - 1;
    slots_[at] = last_ + 1;
    if (2 * words_.size() > slots_.size()) grow();
    return last_;
  }

  std::vector<std::uint64_t> take() {
    words_.shrink_to_fit();
    return std::move(words_);
  }

 private:
  static constexpr std::size_t first_slots = 256;

  std::size_t place_of(std::uint64_t word) const {
    constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
    const std::uint64_t hash = (word ^ word >> 32) * multiplier;
    return (hash >> 32) & (slots_.size() - 1);
  }

  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::size_t at = place_of(words_[i]);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::uint32_t> slots_;  // number plus one; 0: free
  std::vector<std::uint64_t> words_;
  std::uint32_t last_ = 0;
};

}  // namespace blco
