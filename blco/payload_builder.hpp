// Puts a payload together: header, frame table, frames or raw values, padding, checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/payload.hpp"

namespace blco {

inline constexpr int max_decimal_exponent = 15;

class PayloadBuilder {
 public:
  // The payload takes the place of what `space` holds.
  PayloadBuilder(Codec codec, std::uint64_t count, int exponent, std::uint64_t base, std::vector<std::byte> space = {});

  // Frames: first the room for their table, then one call per 256 entries, in order.
  void reserve_table();
  void add_frame(std::span<const std::uint64_t> values, FrameCoding coding);
  // Or raw values.
  void add_raw(std::span<const std::byte> raw);

  std::vector<std::byte> finish();

 private:
  PayloadHeader header_;
  std::vector<std::byte> bytes_;
  std::size_t frames_ = 0;
};

}  // namespace blco
