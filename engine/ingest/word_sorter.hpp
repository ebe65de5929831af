// Sorts numbers with the vectors of the processor that it runs on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace blco {

// Highway's vectorised quicksort (Wassenberg et al., Vectorized and performance-portable Quicksort, 2022). For one
// thread at a time; making one allocates.
class WordSorter {
 public:
  WordSorter();
  ~WordSorter();
  WordSorter(WordSorter&&) noexcept;
  WordSorter& operator=(WordSorter&&) noexcept;

  // Ascending.
  void sort(std::span<std::uint64_t> words) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
