// Held rows: which rows of a mode a backend has, and the place of each among them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/aligned_buffer.hpp"

namespace blco {

// A row's place is the number of held rows before it. Takes 2 bits per row of the mode. Const calls are thread-safe.
class RowIndex {
 public:
  // Of 64 rows. Read at once on a GPU.
  struct alignas(16) Word {
    std::uint64_t held = 0;    // bit r % 64: row r is held
    std::uint64_t before = 0;  // held rows before these 64
  };

  // Row r is held if bit r % 64 of bits[r / 64] is set.
  explicit RowIndex(std::span<const std::uint64_t> bits, const MemorySource& memory = {})
      : words_(bits.size() + 1, memory) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (words_.data() != nullptr) words_.data()[i] = {bits[i], count_};
      count_ += static_cast<std::uint64_t>(std::popcount(bits[i]));
    }
    if (words_.data() != nullptr) words_.data()[bits.size()] = {0, count_};
  }

  // Held rows.
  std::uint64_t count() const { return count_; }
  // Held rows before `row`, held or not, which may be the one after the last.
  std::uint64_t place_of(std::uint64_t row) const {
    const Word& word = words_.data()[row / 64];
    const std::uint64_t lower = (std::uint64_t{1} << row % 64) - 1;
    return word.before + static_cast<std::uint64_t>(std::popcount(word.held & lower));
  }
  bool holds(std::uint64_t row) const { return (words_.data()[row / 64].held >> row % 64 & 1) != 0; }
  // One per word of the bits, and one more.
  std::span<const Word> words() const { return {words_.data(), static_cast<std::size_t>(words_.size())}; }

 private:
  AlignedBuffer<Word> words_;  // in a dry run without memory
  std::uint64_t count_ = 0;
};

}  // namespace blco
