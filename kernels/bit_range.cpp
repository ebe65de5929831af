// A loop of minima and maxima, compiled once per instruction set.
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
  // Two of each, which do not wait for each other.
  const std::size_t lanes = hn::Lanes(tag);
  const auto masks = hn::Set(tag, mask);
  auto least = masks;
  auto most = hn::Zero(tag);
  auto other_least = least;
  auto other_most = most;
  std::size_t i = 0;
  for (; i + 2 * lanes <= words.size(); i += 2 * lanes) {
    const auto bits = hn::And(hn::LoadU(tag, words.data() + i), masks);
    const auto other_bits = hn::And(hn::LoadU(tag, words.data() + i + lanes), masks);
    least = hn::Min(least, bits);
    most = hn::Max(most, bits);
    other_least = hn::Min(other_least, other_bits);
    other_most = hn::Max(other_most, other_bits);
  }
  BitRange range{hn::GetLane(hn::MinOfLanes(tag, hn::Min(least, other_least))),
                 hn::GetLane(hn::MaxOfLanes(tag, hn::Max(most, other_most)))};
  for (; i < words.size(); ++i) {
    range.lower = std::min(range.lower, words[i] & mask);
    range.upper = std::max(range.upper, words[i] & mask);
  }
  return range;
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(range_in_vectors);

BitRange range_of_bits(std::span<const std::uint64_t> words, std::uint64_t mask) {
  return HWY_DYNAMIC_DISPATCH(range_in_vectors)(words, mask);
}

}  // namespace blco
#endif  // HWY_ONCE
