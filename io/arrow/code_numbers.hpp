// What numbers the keys have that a column's dictionary lists, each looked up once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "blco/executor.hpp"
#include "io/arrow/chosen_column.hpp"
#include "io/table/key_dictionary.hpp"

namespace blco {

class CodeNumbers {
 public:
  static constexpr std::uint32_t unnumbered = std::numeric_limits<std::uint32_t>::max();

  // For a dictionary that lists so many; none has a number yet.
  void reset(std::size_t count);
  // Gives those that `keys` has already their numbers, on all threads. Requires: texts.
  void find_known(const ChosenColumn& column, const KeyDictionary& keys, Executor& executor);

  std::uint32_t operator[](std::size_t code) const { return numbers_[code]; }
  void set(std::size_t code, std::uint32_t number) {
    numbers_[code] = number;
    ++numbered_;
  }

  std::size_t size() const { return numbers_.size(); }
  bool is_complete() const { return numbered_ == numbers_.size(); }
  std::uint64_t memory_bytes() const { return numbers_.size() * sizeof(std::uint32_t); }

 private:
  std::vector<std::uint32_t> numbers_;
  std::size_t numbered_ = 0;
};

}  // namespace blco
