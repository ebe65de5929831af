// Loops over words, compiled once per instruction set.
#include "kernels/bit_range.hpp"

#include <algorithm>

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bit_range.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

BitRange range_in_vectors(std::span<const std::uint64_t> words, std::uint64_t mask) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<std::uint64_t, 8> tag;
  // Two accumulators each, which do not wait for each other.
  const std::size_t lanes = hn::Lanes(tag);
  const auto masks = hn::Set(tag, mask);
  auto min = masks;
  auto max = hn::Zero(tag);
  auto other_min = min;
  auto other_max = max;
  std::size_t i = 0;
  for (; i + 2 * lanes <= words.size(); i += 2 * lanes) {
    const auto bits = hn::And(hn::LoadU(tag, words.data() + i), masks);
    const auto other_bits = hn::And(hn::LoadU(tag, words.data() + i + lanes), masks);
    min = hn::Min(min, bits);
    max = hn::Max(max, bits);
    other_min = hn::Min(other_min, other_bits);
    other_max = hn::Max(other_max, other_bits);
  }
  BitRange range{hn::GetLane(hn::MinOfLanes(tag, hn::Min(min, other_min))),
                 hn::GetLane(hn::MaxOfLanes(tag, hn::Max(max, other_max)))};
  for (; i < words.size(); ++i) {
    range.lower = std::min(range.lower, words[i] & mask);
    range.upper = std::max(range.upper, words[i] & mask);
  }
  return range;
}

BitRange box_in_vectors(std::span<const std::uint64_t> words) {
  BitRange box{~std::uint64_t{0}, 0};
  for (const std::uint64_t word : words) {
    box.lower &= word;
    box.upper |= word;
  }
  return box;
}

bool rises_in_vectors(std::span<const std::uint64_t> words, std::uint64_t mask) {
  std::uint64_t falls = 0;
  for (std::size_t i = 1; i < words.size(); ++i) falls |= (words[i] & mask) < (words[i - 1] & mask) ? 1 : 0;
  return falls == 0;
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(range_in_vectors);
HWY_EXPORT(box_in_vectors);
HWY_EXPORT(rises_in_vectors);

BitRange range_of_bits(std::span<const std::uint64_t> words, std::uint64_t mask) {
  return HWY_DYNAMIC_DISPATCH(range_in_vectors)(words, mask);
}

bool rises_under(std::span<const std::uint64_t> words, std::uint64_t mask) {
  return HWY_DYNAMIC_DISPATCH(rises_in_vectors)(words, mask);
}

BitRange box_of_bits(std::span<const std::uint64_t> words) { return HWY_DYNAMIC_DISPATCH(box_in_vectors)(words); }

}  // namespace blco
#endif  // HWY_ONCE
