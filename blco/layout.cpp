// Bit places of every mode in the line index, and the conversions that follow from them.
#include "blco/layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "blco/refuse.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace blco {
namespace {

std::string describe_bits(std::span<const std::uint64_t> shape, std::span<const int> bits) {
  std::string text;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    if (n > 0) text += ", ";
    text += "mode " + std::to_string(n) + ": " + std::to_string(bits[n]);
  }
  return text;
}

void check_shape(std::span<const std::uint64_t> shape) {
  if (shape.empty() || shape.size() > static_cast<std::size_t>(max_order)) {
    refuse("a tensor of order " + std::to_string(shape.size()) + " is not supported; the order must be from 1 to " +
           std::to_string(max_order));
  }
  for (std::size_t n = 0; n < shape.size(); ++n) {
    if (shape[n] == 0) refuse("mode " + std::to_string(n) + " has length 0; a length must be at least 1");
  }
}

std::vector<int> bits_of(std::span<const std::uint64_t> shape) {
  check_shape(shape);
  std::vector<int> bits(shape.size());
  for (std::size_t n = 0; n < shape.size(); ++n) bits[n] = static_cast<int>(std::bit_width(shape[n] - 1));
  const int all = std::accumulate(bits.begin(), bits.end(), 0);
  if (all > max_line_bits) {
    refuse("the line index requires " + std::to_string(all) + " bits, but at most " + std::to_string(max_line_bits) +
           " are supported (" + describe_bits(shape, bits) + "); shorten the modes");
  }
  return bits;
}

// Level by level, the mode with fewer bits first.
void interleave(std::span<const int> bits, BitModes& modes) {
  std::vector<std::size_t> by_bits(bits.size());
  std::iota(by_bits.begin(), by_bits.end(), std::size_t{0});
  std::stable_sort(by_bits.begin(), by_bits.end(), [&](std::size_t a, std::size_t b) { return bits[a] < bits[b]; });
  for (int level = 0; level < bits[by_bits.back()]; ++level) {
    for (const std::size_t n : by_bits) {
      if (level < bits[n]) modes.push_back(static_cast<std::uint8_t>(n));
    }
  }
}

void check_bits(std::span<const int> bits, std::span<const std::uint8_t> modes) {
  std::vector<int> found(bits.size());
  for (const std::uint8_t mode : modes) {
    if (mode >= bits.size()) refuse("an order of bits has one of mode " + std::to_string(mode) + ", which is none");
    ++found[mode];
  }
  for (std::size_t n = 0; n < bits.size(); ++n) {
    if (found[n] == bits[n]) continue;
    refuse("an order of bits has " + std::to_string(found[n]) + " of mode " + std::to_string(n) + ", which takes " +
           std::to_string(bits[n]));
  }
}

// The masks of all modes.
void place_bits(const BitModes& modes, LayoutView& view) {
  for (std::size_t position = 0; position < modes.size(); ++position) {
    ModeLayout& mode = view.modes[modes[position]];
    if (position < 64) {
      mode.low_mask |= std::uint64_t{1} << position;
      ++mode.low_bits;
    } else {
      mode.high_mask |= std::uint64_t{1} << (position - 64);
      ++mode.high_bits;
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("bmi2"))) LineIndex linearize_bmi2(const LayoutView& view, const std::uint64_t* coordinates) {
  LineIndex line;
  for (int n = 0; n < view.order; ++n) {
    const ModeLayout& mode = view.modes[static_cast<std::size_t>(n)];
    line.low |= _pdep_u64(coordinates[n], mode.low_mask);
    if (mode.high_mask != 0) line.key |= _pdep_u64(coordinates[n] >> mode.low_bits, mode.high_mask);
  }
  return line;
}
#endif

}  // namespace

BitModes natural_bit_modes(std::span<const std::uint64_t> shape) {
  BitModes modes;
  interleave(bits_of(shape), modes);
  return modes;
}

BitModes bit_modes_of(std::span<const std::uint64_t> shape, int top, int bottom) {
  std::vector<int> between = bits_of(shape);
  const auto take = [&](int mode) { return std::exchange(between[static_cast<std::size_t>(mode)], 0); };
  const auto above = static_cast<std::size_t>(take(top));
  BitModes modes;
  if (bottom >= 0) modes.assign(static_cast<std::size_t>(take(bottom)), static_cast<std::uint8_t>(bottom));
  interleave(between, modes);
  modes.insert(modes.end(), above, static_cast<std::uint8_t>(top));
  return modes;
}

TensorLayout::TensorLayout(std::span<const std::uint64_t> shape) : TensorLayout(shape, natural_bit_modes(shape)) {}

TensorLayout::TensorLayout(std::span<const std::uint64_t> shape, std::span<const std::uint8_t> bits)
    : shape_(shape.begin(), shape.end()), bit_modes_(bits.begin(), bits.end()) {
  check_bits(bits_of(shape), bits);
  line_bits_ = static_cast<int>(bits.size());
  view_.order = static_cast<int>(shape.size());
  place_bits(bit_modes_, view_);
  int shift = 0;
  int high_shift = 0;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    ModeLayout& mode = view_.modes[n];
    mode.length = shape[n];
    mode.high_shift = mode.high_bits == 0 ? 0 : high_shift;
    high_shift += mode.high_bits;
    mode.shift = mode.low_bits == 0 ? 0 : shift;
    mode.field = mode.low_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << mode.low_bits) - 1;
    shift += mode.low_bits;
  }
}

bool TensorLayout::is_sorted_by(int n) const {
  const auto above = static_cast<std::ptrdiff_t>(mode(n).low_bits + mode(n).high_bits);
  return std::all_of(bit_modes_.end() - above, bit_modes_.end(), [&](std::uint8_t of) { return of == n; });
}

LineIndex TensorLayout::linearize(std::span<const std::uint64_t> coordinates) const {
#if defined(__x86_64__)
  if (has_fast_pext()) return linearize_bmi2(view_, coordinates.data());
#endif
  return linearize_portable(view_, coordinates.data());
}

void TensorLayout::delinearize(LineIndex line, std::span<std::uint64_t> coordinates) const {
  for (std::size_t n = 0; n < shape_.size(); ++n) {
    const ModeLayout& mode = view_.modes[n];
    coordinates[n] = pext(line.low, mode.low_mask);
    if (mode.high_mask != 0) coordinates[n] |= pext(line.key, mode.high_mask) << mode.low_bits;
  }
}

namespace {

ByteTables make_tables(const TensorLayout& layout, std::uint64_t ModeLayout::*mask, int ModeLayout::*shift) {
  ByteTables tables{};
  for (std::size_t byte = 0; byte < 8; ++byte) {
    for (std::uint64_t value = 0; value < 256; ++value) {
      for (int n = 0; n < layout.order(); ++n) {
        const ModeLayout& mode = layout.mode(n);
        tables.byte[byte][value] |= pext(value << (8 * byte), mode.*mask) << mode.*shift;
      }
    }
  }
  return tables;
}

}  // namespace

ByteTables make_index_tables(const TensorLayout& layout) {
  return make_tables(layout, &ModeLayout::low_mask, &ModeLayout::shift);
}

ByteTables make_key_tables(const TensorLayout& layout) {
  return make_tables(layout, &ModeLayout::high_mask, &ModeLayout::high_shift);
}

}  // namespace blco
