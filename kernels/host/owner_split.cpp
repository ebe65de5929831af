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

// Odd, near 2^64 divided by the golden ratio (Knuth, TAOCP 3, section 6.4): the upper bits of a product depend on all
// bits.
constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;

HWY_INLINE std::uint16_t owner_of(std::uint64_t row_bits, std::uint32_t owners) {
  return static_cast<std::uint16_t>(((row_bits * multiplier) >> 32) * owners >> 32);
}

}  // namespace

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

HWY_EXPORT(owners_of_lines);
HWY_EXPORT(owners_of_rows);

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
