// Sorts numbers with the vectors of the processor that it runs on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace blco {

// Highway's vectorised quicksort (Wassenberg et al., Vectorized and performance-portable Quicksort, 2022). For one
// thread at a time; making one allocates.
class KeySorter {
 public:
  KeySorter();
  ~KeySorter();
  KeySorter(KeySorter&&) noexcept;
  KeySorter& operator=(KeySorter&&) noexcept;

  // Ascending.
  void sort(std::span<std::uint64_t> keys) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
