// The linear order of a tensor's nonzeros: coordinates to line index and BLCO index, and back.
//
// Line index: Helal et al., ALTO, ICS 2021, section 3. BLCO index: Nguyen et al., ICS 2022, section 4.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/bits.hpp"
#include "blco/host_device.hpp"

namespace blco {

inline constexpr int max_order = 16;
inline constexpr int max_line_bits = 128;

// A line index of up to 128 bits: `low` is its lower 64 bits, `key` the rest (the key of its block).
struct LineIndex {
  std::uint64_t key = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const LineIndex&, const LineIndex&) = default;
};

// The bits of one mode. A coordinate is
//   pext(low, low_mask) | pext(key, high_mask) << low_bits
// Its low part is, in a BLCO index, (blco >> shift) & field. Its high part is high_bits bits of the key's fields, from
// high_shift on.
struct ModeLayout {
  std::uint64_t length = 0;
  std::uint64_t low_mask = 0;
  std::uint64_t high_mask = 0;
  std::uint64_t field = 0;  // low_bits ones; 0 for a field of width zero
  int low_bits = 0;
  int high_bits = 0;
  int shift = 0;
  int high_shift = 0;
};

// Trivially copyable; kernels take it by value.
struct LayoutView {
  int order = 0;
  std::array<ModeLayout, max_order> modes{};
};

// The line index of `order` zero-based coordinates of either width: TensorLayout::linearize() for host and device.
template <class Coordinate>
BLCO_HOST_DEVICE LineIndex linearize_portable(const LayoutView& view, const Coordinate* coordinates) {
  LineIndex line;
  for (int n = 0; n < view.order; ++n) {
    const ModeLayout& mode = view.modes[static_cast<std::size_t>(n)];
    const std::uint64_t coordinate = coordinates[n];
    line.low |= pdep_portable(coordinate, mode.low_mask);
    // A mode with bits in the key has at most 63 in the low word, except a single mode: then low_bits is 64 and its key
    // is empty.
    if (mode.high_mask != 0) line.key |= pdep_portable(coordinate >> mode.low_bits, mode.high_mask);
  }
  return line;
}

// The mode of each bit of a line index, from bit 0 up. The bits of one mode are in their own order, the lowest first.
using BitModes = std::vector<std::uint8_t>;

// The order of ALTO (Helal et al., ICS 2021), section 3.1: from bit 0 up, level by level, the mode with fewer bits
// first. blco/FORMAT.md fixes it. Throws as TensorLayout does.
BitModes natural_bit_modes(std::span<const std::uint64_t> shape);

// The order of one mode: its bits on top of all others, so that nonzeros are sorted by it first; those of `bottom`, if
// it is not negative, below all others, so that nonzeros that differ in it alone follow each other; the rest between,
// as in the natural order. Requires: top and bottom are modes, and differ. Throws as TensorLayout does.
BitModes bit_modes_of(std::span<const std::uint64_t> shape, int top, int bottom = -1);

class TensorLayout {
 public:
  // Mode n takes bit_width(shape[n] - 1) bits, in the natural order. Throws Error{invalid_argument} for an order
  // outside [1, 16], a mode of length 0, or more than 128 bits in total (the message lists the bits per mode).
  explicit TensorLayout(std::span<const std::uint64_t> shape);
  // In any other order. Also throws if `bits` does not have just the bits of the modes.
  TensorLayout(std::span<const std::uint64_t> shape, std::span<const std::uint8_t> bits);

  int order() const { return view_.order; }
  int line_bits() const { return line_bits_; }
  bool has_high_word() const { return line_bits_ > 64; }
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  const ModeLayout& mode(int n) const { return view_.modes[static_cast<std::size_t>(n)]; }
  const LayoutView& view() const { return view_; }
  const BitModes& bit_modes() const { return bit_modes_; }
  // Whether lines rise with the coordinates of mode n: its bits lie above all others.
  bool is_sorted_by(int n) const;

  // Convert between `order()` zero-based coordinates and a line index. Requires: each coordinate is below its mode's
  // length (not checked).
  LineIndex linearize(std::span<const std::uint64_t> coordinates) const;
  void delinearize(LineIndex line, std::span<std::uint64_t> coordinates) const;

 private:
  std::vector<std::uint64_t> shape_;
  BitModes bit_modes_;
  LayoutView view_;
  int line_bits_ = 0;
};

// Re-encodes the low word of a line index as a BLCO index, contiguous fields with mode 0 lowest, or the bits of a key
// likewise: one look-up per byte.
struct ByteTables {
  std::array<std::array<std::uint64_t, 256>, 8> byte;
};
ByteTables make_index_tables(const TensorLayout& layout);
ByteTables make_key_tables(const TensorLayout& layout);

}  // namespace blco
