// Decodes the frames of a chunk into what the row kernels work on: per mode the rows of 256 nonzeros, and their values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// Two frames: one in use, and the next one decoded ahead so that a prefetch can look past the end of the first.
inline constexpr std::size_t ring_entries = 2 * frame_entries;

// Frames decoded to line indices at a time: indices and values fit half of a small second cache.
inline constexpr std::uint64_t tile_frames = 16;

// A thread's decoded frames and the scratch of decoding. Entry i of frame f is at (f % 2) * 256 + i.
class FrameRing {
 public:
  FrameRing() = default;
  explicit FrameRing(int order)
      : rows_(static_cast<std::uint64_t>(order) * ring_entries),
        values_(ring_entries),
        scratch_(2 * frame_entries),
        tile_indices_(tile_frames * frame_entries),
        tile_values_(tile_frames * frame_entries) {}

  static std::uint64_t bytes(int order) {
    return mapped_bytes(static_cast<std::uint64_t>(order) * ring_entries * sizeof(std::uint32_t)) +
           mapped_bytes(ring_entries * sizeof(double)) + mapped_bytes(2 * frame_entries * sizeof(std::uint64_t)) +
           2 * mapped_bytes(tile_frames * frame_entries * sizeof(std::uint64_t));
  }

  std::uint32_t* rows(int mode) { return rows_.data() + static_cast<std::size_t>(mode) * ring_entries; }
  double* values() { return values_.data(); }
  std::uint64_t* tile_indices() { return tile_indices_.data(); }
  double* tile_values() { return tile_values_.data(); }
  std::uint64_t* scratch(int column) { return scratch_.data() + column * frame_entries; }

 private:
  AlignedBuffer<std::uint32_t> rows_;
  AlignedBuffer<double> values_;
  AlignedBuffer<std::uint64_t> scratch_;
  AlignedBuffer<std::uint64_t> tile_indices_;
  AlignedBuffer<double> tile_values_;
};

// Rows a mode may have in a chunk, both inclusive.
struct RowRange {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
};

// A chunk's own arrays, ready to use: indices, keys and values (none: all are 1). For BitExtraction::pext these are
// line indices and keys as they are stored; for tables BLCO indices, and the key's bits re-encoded in the same way.
// Every array holds whole frames; entries past the end are unspecified.
struct DecodedChunk {
  AlignedBuffer<std::uint64_t> indices;
  AlignedBuffer<std::uint64_t> keys;
  AlignedBuffer<double> values;
};

// Where frames come from: payloads, or the arrays of a decoded chunk. Points into what the caller keeps alive.
struct FrameSource {
  std::uint64_t chunk = 0;  // its number, for messages
  std::uint64_t nnz = 0;
  std::array<RowRange, max_order> range{};
  PayloadView index;
  PayloadView key;
  PayloadView value;                      // without bytes: all values are 1
  const DecodedChunk* decoded = nullptr;  // instead of payloads

  bool has_values() const { return decoded != nullptr ? decoded->values.size() > 0 : value.bytes != nullptr; }
  std::uint64_t frames() const { return (nnz + frame_entries - 1) / frame_entries; }
  int entries_of(std::uint64_t frame) const {
    const std::uint64_t left = nnz - frame * frame_entries;
    return static_cast<int>(left < frame_entries ? left : frame_entries);
  }
};

// Some nonzeros in the form of a DecodedChunk. A frame's worth of entries from any of them on can be read.
struct NonzeroSpan {
  const std::uint64_t* indices = nullptr;
  const std::uint64_t* keys = nullptr;  // nullptr: there are none
  const double* values = nullptr;       // nullptr: all are 1
  std::size_t count = 0;
};

// Where a mode's coordinate lies in a BLCO index and in a key that is re-encoded likewise:
// (index >> shift & field) | (key >> key_shift & key_field) << low_bits.
struct FieldPlace {
  std::uint64_t field = 0;
  std::uint64_t key_field = 0;
  int shift = 0;
  int key_shift = 0;
  int low_bits = 0;
};

enum class BitExtraction { pext, tables };

// Const calls are thread-safe, each with its own ring.
class FrameDecoder {
 public:
  // No mode of `layout` is longer than 2^32. BitExtraction::pext needs has_fast_pext(), or at least BMI2.
  FrameDecoder(const TensorLayout& layout, BitExtraction extraction);

  // A mode may have the rows between the chunk's bounds; all, where the chunk has no bounds. Throws Error{corrupt}
  // where columns or bounds cannot be those of the layout.
  FrameSource open(const ChunkView& chunk) const;

  // Fills the ring's half (frame % 2). Entries past the end of the chunk become row source.range[n].lower
  // with an unspecified value. Throws Error{corrupt} for a row outside its range: what is in the ring may be used as a
  // row.
  void decode(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;

  // Arrays for the frames of `source`, to be filled by decode_into, once for every frame and in any order, each thread
  // with a ring. Throws Error{corrupt} for a row outside its range.
  DecodedChunk make_decoded(const FrameSource& source) const;
  void decode_into(const FrameSource& source, std::uint64_t frame, FrameRing& ring, DecodedChunk& out) const;

  // One frame in the form of a decoded chunk, 256 entries; of chunks without keys or values these are not written.
  // Where indices say it all, the ring is left alone; else its half (frame % 2) has the rows. Throws Error{corrupt} for
  // a row outside its range.
  void decode_bits(const FrameSource& source, std::uint64_t frame, FrameRing& ring, std::uint64_t* indices,
                   std::uint64_t* keys, double* values) const;
  // A frame's line indices and values where decodes_to_lines(): those of a decoded chunk, or decoded to the ring's
  // scratch. Throws likewise.
  NonzeroSpan lines_of(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;
  // Rows and values of up to 256 checked nonzeros, in the ring's first half.
  void expand(const NonzeroSpan& nonzeros, FrameRing& ring) const;

  // Whether the indices of a decoded chunk say it all: the row of mode n is pext(index, row_mask(n)).
  bool decodes_to_lines() const { return extraction_ == BitExtraction::pext && !has_key_; }
  std::uint64_t row_mask(int mode) const { return layout_.modes[static_cast<std::size_t>(mode)].low_mask; }

 private:
  // A frame's bits in one of two forms: line indices and keys for pext, or the fields of BLCO index and key.
  struct FrameBits {
    const std::uint64_t* lows = nullptr;
    const std::uint64_t* keys = nullptr;  // nullptr: the key is constant, and all that it adds is in fixed_key
    std::uint64_t fixed_key = 0;          // as fields
    bool by_pext = false;
  };
  FrameBits read_bits(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;
  FrameBits bits_of(const std::uint64_t* indices, const std::uint64_t* keys) const;
  void decode_lines(const FrameSource& source, std::uint64_t frame, std::uint64_t* lines, double* values) const;
  void check_lines(const FrameSource& source, std::uint64_t frame, std::uint64_t* lines) const;
  void write_rows(const FrameBits& bits, std::uint64_t frame, FrameRing& ring) const;
  void decode_values(const FrameSource& source, std::uint64_t frame, double* values) const;
  void check_rows(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;

  LayoutView layout_;
  bool has_key_ = false;
  BitExtraction extraction_;
  std::array<FieldPlace, max_order> places_{};
  BlcoByteTables low_tables_;
  BlcoByteTables key_tables_;
};

// Bytes of a DecodedChunk at most.
std::uint64_t decoded_chunk_bytes(const TensorLayout& layout, std::uint64_t nnz);

}  // namespace blco
