// Assembles a payload: header, frame table, frames or raw values, padding, checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/payload.hpp"

namespace blco {

inline constexpr int max_decimal_exponent = 15;
inline constexpr std::array<double, max_decimal_exponent + 1> power_of_ten = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// The base of a payload of integers: the most frequent of the frames' smallest values, so that frames that have it need
// no base of their own.
std::int64_t shared_base(std::vector<std::int64_t> smallest);

class PayloadBuilder {
 public:
  // The payload reuses the memory of `space` and overwrites what it holds.
  PayloadBuilder(Codec codec, std::uint64_t count, int exponent, std::uint64_t base, std::vector<std::byte> space = {});

  // Either frames: first reserve_table(), then one add_frame() per 256 entries, in order.
  void reserve_table();
  void add_frame(std::span<const std::uint64_t> values, FrameCoding coding);
  // Or a table and frames that were packed elsewhere: returns `bytes` for them, to be filled before finish().
  std::span<std::byte> add_packed(std::size_t bytes);
  // Or raw values, in one call.
  void add_raw(std::span<const std::byte> raw);

  std::vector<std::byte> finish();

 private:
  PayloadHeader header_;
  std::vector<std::byte> bytes_;
  std::size_t frames_ = 0;
};

}  // namespace blco
