// Reads the nonzeros of a chunk frame by frame: line indices, values, and the coordinates of one mode at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "blco/bits.hpp"
#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"

namespace blco {

using FrameColumn = std::array<std::uint64_t, frame_entries>;

// Requires checked payloads. Supports any mode length that the format allows.
class FrameReader {
 public:
  explicit FrameReader(const ChunkView& chunk) : chunk_(&chunk), index_(view_payload(chunk[Column::index])) {
    if (has_high_word()) key_ = view_payload(chunk[Column::high_word]);
    if (has_values()) value_ = view_payload(chunk[Column::value]);
    values.fill(1.0);
  }

  std::uint64_t frames() const { return (chunk_->nnz + frame_entries - 1) / frame_entries; }
  std::size_t entries(std::uint64_t frame) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(frame_entries, chunk_->nnz - frame * frame_entries));
  }

  void read_lines(std::uint64_t frame) {
    decode_line_frame(index_, frame, lows.data());
    if (has_high_word()) decode_line_frame(key_, frame, keys.data());
  }
  void read_values(std::uint64_t frame) {
    if (has_values()) decode_value_frame(value_, frame, values.data());
  }
  // Computes one mode's coordinates from the lines read last.
  void coordinates(const ModeLayout& mode, std::size_t entries, FrameColumn& out) const {
    pext_each(lows.data(), entries, mode.low_mask, out.data());
    if (mode.high_mask == 0) return;
    FrameColumn high;
    pext_each(keys.data(), entries, mode.high_mask, high.data());
    for (std::size_t i = 0; i < entries; ++i) out[i] |= high[i] << mode.low_bits;
  }

  FrameColumn lows{};
  FrameColumn keys{};  // zero without a key column
  std::array<double, frame_entries> values{};

 private:
  bool has_high_word() const { return !(*chunk_)[Column::high_word].empty(); }
  bool has_values() const { return !(*chunk_)[Column::value].empty(); }

  const ChunkView* chunk_;
  PayloadView index_;
  PayloadView key_;
  PayloadView value_;
};

}  // namespace blco
