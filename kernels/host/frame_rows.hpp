// Decodes the frames of a chunk for the row kernels: the rows of 256 nonzeros in each mode, and their values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/row_index.hpp"

namespace blco {

// Two frames: one in use, and the next, decoded early so that prefetches can look past the end of the first.
inline constexpr std::size_t ring_entries = 2 * frame_entries;

// Frames decoded to line indices at a time: their indices and values fill half of a small L2 cache.
inline constexpr std::uint64_t tile_frames = 16;

// A thread's decoded frames and its decoding scratch. Entry i of frame f is at (f % 2) * 256 + i.
class FrameRing {
 public:
  FrameRing() = default;
  explicit FrameRing(int order, const MemorySource& memory = {})
      : rows_(static_cast<std::uint64_t>(order) * ring_entries, memory),
        values_(ring_entries, memory),
        scratch_(2 * frame_entries, memory),
        tile_indices_(tile_frames * frame_entries, memory),
        tile_values_(tile_frames * frame_entries, memory) {}

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

// Rows of a mode that a chunk may contain, both inclusive.
struct RowRange {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;

  std::uint64_t count() const { return std::uint64_t{upper} - lower + 1; }
};

// A chunk decoded into its own arrays: indices, keys and values (none: all are 1). With BitExtraction::pext, indices
// and keys are the stored line indices and keys; with tables, BLCO indices and keys re-encoded in the same way. Every
// array holds whole frames; entries past the end are unspecified.
struct DecodedChunk {
  DecodedChunk() = default;
  DecodedChunk(std::uint64_t nnz, bool has_keys, bool has_values, const MemorySource& memory = {});

  AlignedBuffer<std::uint64_t> indices;
  AlignedBuffer<std::uint64_t> keys;
  AlignedBuffer<double> values;
};

// Frames [first, end) of a chunk.
struct FrameRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  std::uint64_t count() const { return end - first; }
  // The share of part `part` of `parts`.
  FrameRange cut(std::size_t part, std::size_t parts) const {
    return {first + count() * part / parts, first + count() * (part + 1) / parts};
  }
};

// Source of frames: payloads, or a decoded chunk. Points to memory that the caller keeps alive.
struct FrameSource {
  std::uint64_t chunk = 0;  // its number, for messages
  std::uint64_t nnz = 0;
  std::array<RowRange, max_order> range{};   // of coordinates
  std::array<RowRange, max_order> places{};  // the same as rows of a backend's matrices
  PayloadView index;
  PayloadView key;
  PayloadView value;                      // no bytes: all values are 1, over the divisor
  const DecodedChunk* decoded = nullptr;  // if set, replaces the payloads
  const double* weights = nullptr;        // if set, replaces the values, from frame `weights_frame` on
  std::uint64_t weights_frame = 0;
  int sorted_by = -1;        // as ChunkView::sorted_by
  bool rows_proved = false;  // its rows are within `range`, all of them: decoders need not look

  bool has_values() const {
    if (weights != nullptr) return true;
    return decoded != nullptr ? decoded->values.size() > 0 : value.bytes != nullptr || value.divisor != 1;
  }
  std::uint64_t frames() const { return (nnz + frame_entries - 1) / frame_entries; }
  FrameRange all_frames() const { return {0, frames()}; }
  // The values of a frame where they lie in memory as numbers; nullptr: they do not, or all are 1.
  const double* values_of(std::uint64_t frame) const {
    if (weights != nullptr) return weights + (frame - weights_frame) * frame_entries;
    if (decoded == nullptr || decoded->values.size() == 0) return nullptr;
    return decoded->values.data() + frame * frame_entries;
  }
  int entries_of(std::uint64_t frame) const {
    const std::uint64_t left = nnz - frame * frame_entries;
    return static_cast<int>(left < frame_entries ? left : frame_entries);
  }
};

// Consecutive nonzeros in the form of a DecodedChunk. From any of them on, 256 entries are readable.
struct NonzeroSpan {
  const std::uint64_t* indices = nullptr;
  const std::uint64_t* keys = nullptr;  // nullptr: there are none
  const double* values = nullptr;       // nullptr: all are 1
  std::size_t count = 0;
};

// Position of a mode's coordinate in a BLCO index and in a key re-encoded likewise:
// (index >> shift & field) | (key >> high_shift & high_field) << low_bits.
struct FieldPlace {
  std::uint64_t field = 0;
  std::uint64_t high_field = 0;
  int shift = 0;
  int high_shift = 0;
  int low_bits = 0;
};

enum class BitExtraction { pext, tables };

// Const calls are thread-safe, each with its own ring. Of a mode with held rows, rows in a ring are places among these.
class FrameDecoder {
 public:
  // `held` is as in BackendConfig. Requires: no mode of `layout` is longer than 2^32, and BitExtraction::pext only with
  // has_fast_pext() or at least BMI2.
  FrameDecoder(const TensorLayout& layout, BitExtraction extraction,
               std::vector<std::shared_ptr<const RowIndex>> held = {});

  // A mode's rows are limited to the chunk's bounds, if it has any. Throws Error{corrupt} if the columns or bounds do
  // not match the layout, or no row within bounds is held.
  FrameSource open(const ChunkView& chunk) const;

  // Fills the ring's half (frame % 2). Entries past the end of the chunk get row source.places[n].lower and an
  // unspecified value. Throws Error{corrupt} for a row outside its range, here and below unless source.rows_proved, or
  // not held; so every row in the ring is safe to use.
  void decode(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;

  // make_decoded allocates the arrays for the frames of `source`; decode_into fills them, once per frame, in any order,
  // each thread with its own ring. Throws Error{corrupt} for a row outside its range.
  DecodedChunk make_decoded(const FrameSource& source) const;
  void decode_into(const FrameSource& source, std::uint64_t frame, FrameRing& ring, DecodedChunk& out) const;

  // Decodes one frame, 256 entries, in the form of a DecodedChunk; leaves `keys` or `values` unwritten if the chunk has
  // none. If decodes_to_lines(), the ring is untouched; else its half (frame % 2) gets the rows. Throws Error{corrupt}
  // for a row outside its range.
  void decode_bits(const FrameSource& source, std::uint64_t frame, FrameRing& ring, std::uint64_t* indices,
                   std::uint64_t* keys, double* values) const;
  // Line indices and values of a frame: those of the decoded chunk, or decoded into the ring's scratch. Throws
  // likewise. Requires: decodes_to_lines().
  NonzeroSpan lines_of(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;
  // The same of up to tile_frames frames, decoded into the ring's tile.
  NonzeroSpan tile_of(const FrameSource& source, FrameRange frames, FrameRing& ring) const;
  // Writes rows and values of up to 256 checked nonzeros to the ring's first half.
  void expand(const NonzeroSpan& nonzeros, FrameRing& ring) const;

  int order() const { return layout_.order; }
  // True if indices alone give all rows: the row of mode n is pext(index, row_mask(n)).
  bool decodes_to_lines() const { return decodes_to_lines_; }
  std::uint64_t row_mask(int mode) const { return layout_.modes[static_cast<std::size_t>(mode)].low_mask; }

 private:
  // The bits of a frame in one of two forms: line indices and keys for pext, or fields of BLCO index and key.
  struct FrameBits {
    const std::uint64_t* lows = nullptr;
    const std::uint64_t* keys = nullptr;  // nullptr: the key is constant, and fixed_key holds its contribution
    std::uint64_t fixed_key = 0;          // as fields
    bool by_pext = false;
  };
  FrameBits read_bits(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;
  FrameBits bits_of(const std::uint64_t* indices, const std::uint64_t* keys) const;
  void decode_lines(const FrameSource& source, std::uint64_t frame, std::uint64_t* lines, double* values) const;
  void check_lines(const FrameSource& source, const std::uint64_t* lines) const;
  void write_rows(const FrameBits& bits, std::uint64_t frame, FrameRing& ring) const;
  void decode_values(const FrameSource& source, std::uint64_t frame, double* values) const;
  void check_rows(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const;
  void write_places(const FrameSource& source, int mode, std::size_t count, std::uint32_t* rows) const;
  // Null: all.
  const RowIndex* held_of(std::size_t mode) const { return held_.empty() ? nullptr : held_[mode].get(); }
  RowRange places_of(std::size_t mode, RowRange rows, std::uint64_t chunk) const;

  LayoutView layout_;
  std::vector<std::shared_ptr<const RowIndex>> held_;
  bool has_high_word_ = false;
  BitExtraction extraction_;
  bool decodes_to_lines_ = false;
  std::array<FieldPlace, max_order> fields_{};
  ByteTables low_tables_;
  ByteTables key_tables_;
};

// How many runs of neighbours that are alike under `mask` a list of lines has. Requires: it is not empty.
std::size_t count_runs(std::span<const std::uint64_t> lines, std::uint64_t mask);

}  // namespace blco
