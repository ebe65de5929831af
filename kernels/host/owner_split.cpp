// Owners by a multiplicative hash, compiled once per instruction set.
#include "kernels/host/owner_split.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/owner_split.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Odd, near 2^64 divided by the golden ratio (Knuth, TAOCP 3, section 6.4): the upper bits of a product depend on all
// bits.
constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;

template <class Tag, class Mask>
HWY_INLINE void append(Tag tag, hn::Vec<Tag> indices, const double* values, Mask mask, SplitSink& sink) {
  const hn::Repartition<double, Tag> value_tag;
  if (values != nullptr) {
    hn::CompressStore(hn::LoadU(value_tag, values), hn::RebindMask(value_tag, mask), value_tag,
                      sink.values + sink.count);
  }
  sink.count += hn::CompressStore(indices, mask, tag, sink.indices + sink.count);
}

HWY_INLINE std::uint16_t owner_of(std::uint64_t row_bits, std::uint32_t owners) {
  return static_cast<std::uint16_t>(((row_bits * multiplier) >> 32) * owners >> 32);
}

}  // namespace

void split_lines(const std::uint64_t* indices, const double* values, std::size_t count, std::uint64_t mask,
                 SplitSink& first, SplitSink& second) {
  const hn::CappedTag<std::uint64_t, 8> tag;
  const hn::RebindToSigned<decltype(tag)> signed_tag;
  static_assert(split_slack >= 2 * hn::MaxLanes(tag));
  SplitSink low = first;
  SplitSink high = second;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    const auto lines = hn::LoadU(tag, indices + at);
    const auto hash = hn::Mul(hn::And(lines, hn::Set(tag, mask)), hn::Set(tag, multiplier));
    const auto upper = hn::RebindMask(tag, hn::Lt(hn::BitCast(signed_tag, hash), hn::Zero(signed_tag)));
    const double* from = values != nullptr ? values + at : nullptr;
    append(tag, lines, from, hn::Not(upper), low);
    append(tag, lines, from, upper, high);
  }
  for (; at < count; ++at) {
    SplitSink& sink = (indices[at] & mask) * multiplier >> 63 != 0 ? high : low;
    sink.indices[sink.count] = indices[at];
    if (values != nullptr) sink.values[sink.count] = values[at];
    ++sink.count;
  }
  first.count = low.count;
  second.count = high.count;
}

void owners_of_lines(const std::uint64_t* indices, std::size_t count, std::uint64_t mask, std::uint32_t owners,
                     std::uint16_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = owner_of(indices[i] & mask, owners);
}

void owners_of_rows(const std::uint32_t* rows, std::size_t count, int ignored_bits, std::uint32_t owners,
                    std::uint16_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = owner_of(rows[i] >> ignored_bits, owners);
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(split_lines);
HWY_EXPORT(owners_of_lines);
HWY_EXPORT(owners_of_rows);

void split_in_two(const std::uint64_t* indices, const double* values, std::size_t count, std::uint64_t mask,
                  SplitSink& first, SplitSink& second) {
  HWY_DYNAMIC_DISPATCH(split_lines)(indices, values, count, mask, first, second);
}

void find_owners(const std::uint64_t* indices, std::size_t count, std::uint64_t mask, std::uint32_t owners,
                 std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(owners_of_lines)(indices, count, mask, owners, out);
}

void find_owners(const std::uint32_t* rows, std::size_t count, int ignored_bits, std::uint32_t owners,
                 std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(owners_of_rows)(rows, count, ignored_bits, owners, out);
}

}  // namespace blco
#endif  // HWY_ONCE
