// CUDA's device functions for the emulator: warp collectives, barriers, atomics and bit operations.
//
// Each collective takes its place in the source as a last, hidden argument: lanes that meet must do so there.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/simt/block_runner.hpp"

namespace simt {

// What CUDA's collectives exchange. Narrower types would be promoted there.
template <class T>
concept Word = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <Word T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <Word T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// The value of lane `from`, or the caller's own where that lane is not in its group.
template <Word T>
T shuffle(unsigned mask, T value, int from, bool in_group, const Site& site) {
  exchange(mask, to_bits(value), site);
  return in_group ? from_bits<T>(received(static_cast<unsigned>(from))) : value;
}

template <Word T, class Operation>
T reduce(unsigned mask, T value, const Operation& operation, const Site& site) {
  exchange(mask, to_bits(value), site);
  auto lane = static_cast<unsigned>(std::countr_zero(mask));
  T result = from_bits<T>(received(lane));
  while (++lane < warp_lanes) {
    if ((mask >> lane & 1) != 0) result = operation(result, from_bits<T>(received(lane)));
  }
  return result;
}

inline int signed_lane() { return static_cast<int>(lane_index()); }

}  // namespace simt

inline void __syncthreads(const simt::Site& site = simt::Site::current()) { simt::meet_block(false, site); }
inline int __syncthreads_count(int predicate, const simt::Site& site = simt::Site::current()) {
  return static_cast<int>(simt::meet_block(predicate != 0, site));
}
inline int __syncthreads_or(int predicate, const simt::Site& site = simt::Site::current()) {
  return simt::meet_block(predicate != 0, site) > 0;
}
inline int __syncthreads_and(int predicate, const simt::Site& site = simt::Site::current()) {
  return simt::meet_block(predicate == 0, site) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, const simt::Site& site = simt::Site::current()) {
  simt::exchange(mask, 0, site);
}

template <simt::Word T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const simt::Site& site = simt::Site::current()) {
  const int first = simt::signed_lane() & ~(width - 1);
  return simt::shuffle(mask, value, first | (source & (width - 1)), true, site);
}
template <simt::Word T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 const simt::Site& site = simt::Site::current()) {
  const int from = simt::signed_lane() - static_cast<int>(delta);
  return simt::shuffle(mask, value, from, from >= (simt::signed_lane() & ~(width - 1)), site);
}
template <simt::Word T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   const simt::Site& site = simt::Site::current()) {
  const int from = simt::signed_lane() + static_cast<int>(delta);
  return simt::shuffle(mask, value, from, from <= (simt::signed_lane() | (width - 1)), site);
}
template <simt::Word T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, const simt::Site& site = simt::Site::current()) {
  const int from = simt::signed_lane() ^ bits;
  return simt::shuffle(mask, value, from, from <= (simt::signed_lane() | (width - 1)), site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, const simt::Site& site = simt::Site::current()) {
  simt::exchange(mask, predicate != 0 ? 1 : 0, site);
  return simt::lanes_that_gave(1);
}
inline int __any_sync(unsigned mask, int predicate, const simt::Site& site = simt::Site::current()) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, const simt::Site& site = simt::Site::current()) {
  return __ballot_sync(mask, predicate, site) == mask;
}
template <simt::Word T>
unsigned __match_any_sync(unsigned mask, T value, const simt::Site& site = simt::Site::current()) {
  simt::exchange(mask, simt::to_bits(value), site);
  return simt::lanes_that_gave(simt::to_bits(value));
}

template <simt::Word T>
T __reduce_add_sync(unsigned mask, T value, const simt::Site& site = simt::Site::current()) {
  return simt::reduce(
      mask, value, [](T a, T b) { return a + b; }, site);
}
template <simt::Word T>
T __reduce_min_sync(unsigned mask, T value, const simt::Site& site = simt::Site::current()) {
  return simt::reduce(
      mask, value, [](T a, T b) { return std::min(a, b); }, site);
}
template <simt::Word T>
T __reduce_max_sync(unsigned mask, T value, const simt::Site& site = simt::Site::current()) {
  return simt::reduce(
      mask, value, [](T a, T b) { return std::max(a, b); }, site);
}

inline unsigned __reduce_or_sync(unsigned mask, unsigned value, const simt::Site& site = simt::Site::current()) {
  return simt::reduce(
      mask, value, [](unsigned a, unsigned b) { return a | b; }, site);
}

inline void __nanosleep(unsigned) {}

inline void __threadfence() { simt::fence(); }
inline void __threadfence_block() { simt::fence(); }
inline void __threadfence_system() { simt::fence(); }

// Atomics order nothing but themselves, as on a device. All return what was there before.

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
T atomicSub(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).fetch_sub(value, std::memory_order_relaxed);
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).fetch_or(value, std::memory_order_relaxed);
}
template <class T>
T atomicAnd(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).fetch_and(value, std::memory_order_relaxed);
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).exchange(value, std::memory_order_relaxed);
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*at).compare_exchange_strong(expected, value, std::memory_order_relaxed);
  return expected;
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  const std::atomic_ref<T> word(*at);
  T old = word.load(std::memory_order_relaxed);
  while (old < value && !word.compare_exchange_weak(old, value, std::memory_order_relaxed)) continue;
  return old;
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  const std::atomic_ref<T> word(*at);
  T old = word.load(std::memory_order_relaxed);
  while (value < old && !word.compare_exchange_weak(old, value, std::memory_order_relaxed)) continue;
  return old;
}

// CUDA has these without a namespace, for device code.
using std::max;
using std::min;

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) { return std::countl_zero(static_cast<unsigned long long>(bits)); }
inline unsigned __brev(unsigned bits) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (bits >> i & 1) << (31 - i);
  return reversed;
}

// Numbers from their bits, and back.
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
inline long long __double_as_longlong(double number) { return std::bit_cast<long long>(number); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

// Loads and stores with a hint for caches.
template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, std::type_identity_t<T> value) {
  *to = value;
}
