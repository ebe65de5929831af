// Sorts numbers with the widest vectors of the processor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace blco {

// Highway's vectorised quicksort (Wassenberg et al., Vectorized and performance-portable Quicksort, 2022). A sorter
// serves one thread at a time. The constructor allocates.
class WordSorter {
 public:
  WordSorter();
  ~WordSorter();
  WordSorter(WordSorter&&) noexcept;
  WordSorter& operator=(WordSorter&&) noexcept;

  // Sorts in ascending order.
  void sort(std::span<std::uint64_t> words) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
