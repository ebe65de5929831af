#include "tests/bench/machine/peak_loops.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/machine/peak_loops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <array>
#include <atomic>
#include <numeric>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Three loads a cycle or two of 64 bytes, each followed by an addition that takes a cycle: eight sums are enough.
constexpr std::size_t load_sums = 8;
// Two multiply-adds a cycle that take up to five cycles each need ten; NEON processors do four in four cycles. With the
// two constants they have to stay in registers, of which AVX2 has 16.
constexpr std::size_t chains = HWY_TARGET == HWY_AVX2 ? 12 : 16;

template <class Sum, class Tag>
HWY_INLINE Sum add_lanes(Tag tag, hn::Vec<Tag> vector) {
  std::array<hn::TFromD<Tag>, hn::MaxLanes(Tag())> parts{};
  hn::StoreU(vector, tag, parts.data());
  return std::accumulate(parts.begin(), parts.end(), Sum{0});
}

template <class T>
HWY_INLINE MultiplyAdds multiply_add(std::uint64_t steps) {
  const hn::ScalableTag<T> tag;
  using Vector = hn::Vec<decltype(tag)>;
  constexpr std::size_t lanes = hn::MaxLanes(tag);
  const Vector half = hn::Set(tag, T{0.5});
  const Vector one = hn::Set(tag, T{1});
  Vector numbers[chains];
  for (std::size_t c = 0; c < chains; ++c) numbers[c] = hn::Iota(tag, static_cast<T>(c * lanes));
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::size_t c = 0; c < chains; ++c) numbers[c] = hn::MulAdd(numbers[c], half, one);
  }
  MultiplyAdds done;
  done.numbers = chains * lanes;
  done.flops = 2 * static_cast<double>(done.numbers) * static_cast<double>(steps);
  for (const Vector& number : numbers) done.sum += add_lanes<double>(tag, number);
  return done;
}

}  // namespace

std::uint64_t sum_vectors(const std::uint64_t* words, std::size_t count, std::uint64_t rounds) {
  const hn::ScalableTag<std::uint64_t> tag;
  using Vector = hn::Vec<decltype(tag)>;
  constexpr std::size_t lanes = hn::MaxLanes(tag);
  constexpr std::size_t strip = load_sums * lanes;
  Vector sums[load_sums];
  for (Vector& sum : sums) sum = hn::Zero(tag);
  std::uint64_t rest = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::size_t at = 0;
    for (; at + strip <= count; at += strip) {
      for (std::size_t s = 0; s < load_sums; ++s) {
        sums[s] = hn::Add(sums[s], hn::LoadU(tag, words + at + s * lanes));
      }
    }
    for (; at < count; ++at) rest += words[at];
    // Else a compiler may load the words once for all rounds.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  for (const Vector& sum : sums) rest += add_lanes<std::uint64_t>(tag, sum);
  return rest;
}

MultiplyAdds multiply_add_double(std::uint64_t steps) { return multiply_add<double>(steps); }
MultiplyAdds multiply_add_float(std::uint64_t steps) { return multiply_add<float>(steps); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(sum_vectors);
HWY_EXPORT(multiply_add_double);
HWY_EXPORT(multiply_add_float);

std::uint64_t sum_words(std::span<const std::uint64_t> words, std::uint64_t rounds) {
  return HWY_DYNAMIC_DISPATCH(sum_vectors)(words.data(), words.size(), rounds);
}
MultiplyAdds multiply_add_f64(std::uint64_t steps) { return HWY_DYNAMIC_DISPATCH(multiply_add_double)(steps); }
MultiplyAdds multiply_add_f32(std::uint64_t steps) { return HWY_DYNAMIC_DISPATCH(multiply_add_float)(steps); }

}  // namespace blco
#endif  // HWY_ONCE
