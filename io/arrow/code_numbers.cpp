// Lookups miss the caches: some go on at a time.
#include "io/arrow/code_numbers.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace blco {
namespace {

constexpr std::size_t task_keys = 4096;
constexpr std::size_t prefetch_keys = 8;

}  // namespace

void CodeNumbers::reset(std::size_t count) {
  numbers_.assign(count, unnumbered);
  numbered_ = 0;
}

void CodeNumbers::find_known(const ChosenColumn& column, const KeyDictionary& keys, Executor& executor) {
  if (keys.size() == 0) return;
  std::vector<std::size_t> found((size() + task_keys - 1) / task_keys);
  executor.run(found.size(), [&](std::size_t task) {
    const std::size_t first = task * task_keys;
    const std::size_t count = std::min(task_keys, size() - first);
    std::array<std::uint32_t, task_keys> hashes;
    const auto is_gap = [&](std::size_t i) { return !column.is_gap.empty() && column.is_gap[first + i] != 0; };
    for (std::size_t i = 0; i < count; ++i) hashes[i] = is_gap(i) ? 0 : hash_key(column.listed.text(first + i));
    for (std::size_t i = 0; i < count; ++i) {
      keys.prefetch(hashes[std::min(i + prefetch_keys, count - 1)]);
      if (is_gap(i)) continue;
      const std::uint32_t number = keys.find(column.listed.text(first + i), hashes[i]);
      if (number == keys.size()) continue;
      numbers_[first + i] = number;
      ++found[task];
    }
  });
  numbered_ = std::accumulate(found.begin(), found.end(), std::size_t{0});
}

}  // namespace blco
