// Keys that are others, and may mean the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blco {

struct KeyPairs {
  std::uint64_t pairs = 0;  // keys that may mean the same as an earlier one
  std::uint64_t first = 0;  // the first such pair
  std::uint64_t second = 0;
};

// Of a list with a member `key` each, in which those that may mean the same lie side by side, by rising keys.
template <class Key, class Same>
KeyPairs find_pairs(const std::vector<Key>& sorted, const Same& same) {
  KeyPairs found;
  for (std::size_t first = 0, i = 1; i < sorted.size(); ++i) {
    if (!same(sorted[first], sorted[i])) {
      first = i;
    } else if (found.pairs++ == 0 || sorted[i].key < found.second) {
      found.first = sorted[first].key;
      found.second = sorted[i].key;
    }
  }
  return found;
}

}  // namespace blco
