// Each thread looks some thousand keys up at a time.
#include "io/arrow/code_numbers.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>

namespace blco {
namespace {

constexpr std::size_t task_keys = 4096;

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
    const auto text_of = [&](std::size_t i) {
      const bool is_gap = !column.is_gap.empty() && column.is_gap[first + i] != 0;
      return is_gap ? std::string_view() : column.listed.text(first + i);
    };
    const auto numbers = std::span(numbers_).subspan(first, count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = hash_key(text_of(i));
    keys.find_all(text_of, numbers);
    for (std::uint32_t& number : numbers) {
      found[task] += number != keys.size();
      if (number == keys.size()) number = unnumbered;
    }
  });
  numbered_ = std::accumulate(found.begin(), found.end(), std::size_t{0});
}

}  // namespace blco
