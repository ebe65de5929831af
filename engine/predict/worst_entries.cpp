// A heap whose first entry is the next to go.
#include "engine/predict/worst_entries.hpp"

#include <algorithm>

namespace blco {
namespace {

bool is_worse(const WorstEntries::Entry& a, const WorstEntries::Entry& b) {
  return a.ratio != b.ratio ? a.ratio > b.ratio : a.number < b.number;
}

}  // namespace

WorstEntries::WorstEntries(std::size_t order, std::uint64_t most)
    : order_(order), entries_(most), points_(most * order) {}

void WorstEntries::add(std::span<const std::uint64_t> point, double value, double model, double ratio) {
  Entry* const begin = entries_.data();
  Entry entry{.ratio = ratio, .value = value, .model = model, .number = seen_++, .slot = count_};
  if (count_ == entries_.size()) {
    if (count_ == 0 || !is_worse(entry, *begin)) return;
    entry.slot = begin->slot;
    std::pop_heap(begin, begin + count_, is_worse);
    begin[count_ - 1] = entry;
  } else {
    begin[count_++] = entry;
  }
  std::ranges::copy(point, points_.data() + entry.slot * order_);
  std::push_heap(begin, begin + count_, is_worse);
}

std::span<const WorstEntries::Entry> WorstEntries::sort() {
  std::sort_heap(entries_.data(), entries_.data() + count_, is_worse);
  return {entries_.data(), static_cast<std::size_t>(count_)};
}

}  // namespace blco
