// Turns frames into rows: by pext directly from the line index, or by byte tables, shift and mask in a vectorised loop.
#include "kernels/host/frame_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "kernels/bit_range.hpp"
#include "kernels/highway_targets.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Loops over one frame, compiled once per instruction set for the compiler to vectorise.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/frame_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

// `keys` may be nullptr: all keys are zero. `fixed` is ORed into every row.
void rows_of_fields(const std::uint64_t* indices, const std::uint64_t* keys, FieldPlace place, std::uint32_t fixed,
                    std::uint32_t* rows) {
  for (std::size_t i = 0; i < frame_entries; ++i) {
    rows[i] = static_cast<std::uint32_t>(indices[i] >> place.shift & place.field) | fixed;
  }
  if (keys == nullptr) return;
  for (std::size_t i = 0; i < frame_entries; ++i) {
    rows[i] |= static_cast<std::uint32_t>((keys[i] >> place.high_shift & place.high_field) << place.low_bits);
  }
}

RowRange range_of_rows(const std::uint32_t* rows) {
  std::uint32_t lower = rows[0];
  std::uint32_t upper = rows[0];
  for (std::size_t i = 0; i < frame_entries; ++i) {
    lower = rows[i] < lower ? rows[i] : lower;
    upper = rows[i] > upper ? rows[i] : upper;
  }
  return {lower, upper};
}

// Replaces `count` rows by their places. Returns one that is not held, or -1.
std::int64_t rows_to_places(const RowIndex::Word* words, std::size_t count, std::uint32_t* rows) {
  std::int64_t lost = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = rows[i];
    const RowIndex::Word word = words[row / 64];
    const std::uint64_t lower = word.held & ((std::uint64_t{1} << row % 64) - 1);
    lost = (word.held >> row % 64 & 1) != 0 ? lost : row;
    rows[i] = static_cast<std::uint32_t>(word.before) + static_cast<std::uint32_t>(__builtin_popcountll(lower));
  }
  return lost;
}

std::uint64_t differing_bits(const std::uint64_t* keys) {
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < frame_entries; ++i) differing |= keys[i] ^ keys[0];
  return differing;
}

std::size_t runs_under(const std::uint64_t* lines, std::size_t count, std::uint64_t mask) {
  std::uint64_t ends = 0;
  for (std::size_t i = 1; i < count; ++i) ends += ((lines[i] ^ lines[i - 1]) & mask) != 0 ? 1 : 0;
  return static_cast<std::size_t>(ends) + 1;
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(rows_of_fields);
HWY_EXPORT(range_of_rows);
HWY_EXPORT(rows_to_places);
HWY_EXPORT(differing_bits);
HWY_EXPORT(runs_under);

namespace {

#if defined(__x86_64__)
#define BLCO_BMI2 __attribute__((target("bmi2")))
BLCO_BMI2 std::uint64_t pext_one(std::uint64_t word, std::uint64_t mask) { return _pext_u64(word, mask); }
#else
#define BLCO_BMI2
std::uint64_t pext_one(std::uint64_t word, std::uint64_t mask) { return pext_portable(word, mask); }
#endif

BLCO_BMI2 void rows_by_pext(const std::uint64_t* lows, std::uint64_t mask, std::uint32_t fixed, std::uint32_t* rows) {
#pragma GCC unroll 4
  for (std::size_t i = 0; i < frame_entries; ++i) {
    rows[i] = static_cast<std::uint32_t>(pext_one(lows[i], mask)) | fixed;
  }
}

BLCO_BMI2 void add_key_by_pext(const std::uint64_t* keys, std::uint64_t mask, int low_bits, std::uint32_t* rows) {
  for (std::size_t i = 0; i < frame_entries; ++i) {
    rows[i] |= static_cast<std::uint32_t>(pext_one(keys[i], mask) << low_bits);
  }
}

std::uint64_t look_up(const ByteTables& tables, std::uint64_t word) {
  std::uint64_t result = 0;
  for (std::size_t byte = 0; byte < 8; ++byte) result |= tables.byte[byte][word >> (8 * byte) & 255];
  return result;
}

void look_up_all(const ByteTables& tables, std::uint64_t* words) {
  for (std::size_t i = 0; i < frame_entries; ++i) words[i] = look_up(tables, words[i]);
}

std::uint64_t ones(int bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

std::uint64_t whole_frames(std::uint64_t nnz) { return (nnz + frame_entries - 1) / frame_entries * frame_entries; }

[[noreturn]] void fail(std::uint64_t chunk, const std::string& what) {
  throw Error(ErrorKind::corrupt,
              "chunk " + std::to_string(chunk) + ": " + what + "; the file is damaged, ingest it again");
}

[[noreturn]] void fail_at_row(const FrameSource& source, int mode, RowRange allowed) {
  const std::string order =
      source.sorted_by < 0 ? "" : "in the copy in the order of mode " + std::to_string(source.sorted_by) + ", ";
  fail(source.chunk, order + "mode " + std::to_string(mode) + " has a coordinate outside [" +
                         std::to_string(allowed.lower) + ", " + std::to_string(allowed.upper) + "]");
}

PayloadView open_column(const ChunkView& chunk, Column column, const char* name) {
  const std::span<const std::byte> payload = chunk[column];
  if (payload.empty()) fail(chunk.number, std::string("it has no ") + name + " column");
  const PayloadView view = view_payload(payload);
  if (view.count < chunk.nnz) fail(chunk.number, std::string("its ") + name + " column is too short");
  const bool legal = column == Column::value ? view.codec != Codec::line && view.codec != Codec::f64_shuffled
                                             : view.codec == Codec::line;
  if (!legal) fail(chunk.number, std::string("its ") + name + " column has the codec of another");
  return view;
}

}  // namespace

DecodedChunk::DecodedChunk(std::uint64_t nnz, bool has_keys, bool has_values, const MemorySource& memory)
    : indices(whole_frames(nnz), memory),
      keys(has_keys ? whole_frames(nnz) : 0, memory),
      values(has_values ? whole_frames(nnz) : 0, memory) {}

FrameDecoder::FrameDecoder(const TensorLayout& layout, BitExtraction extraction,
                           std::vector<std::shared_ptr<const RowIndex>> held)
    : layout_(layout.view()),
      held_(std::move(held)),
      has_high_word_(layout.has_high_word()),
      extraction_(extraction),
      low_tables_(make_index_tables(layout)),
      key_tables_(make_key_tables(layout)) {
  decodes_to_lines_ = extraction == BitExtraction::pext && !has_high_word_ &&
                      std::ranges::all_of(held_, [](const auto& of_mode) { return of_mode == nullptr; });
  for (std::size_t n = 0; n < layout.shape().size(); ++n) {
    const ModeLayout& mode = layout_.modes[n];
    fields_[n] = {mode.field, ones(mode.high_bits), mode.shift, mode.high_shift,
                  mode.high_bits == 0 ? 0 : mode.low_bits};
  }
}

FrameSource FrameDecoder::open(const ChunkView& chunk) const {
  FrameSource source;
  source.chunk = chunk.number;
  source.nnz = chunk.nnz;
  source.sorted_by = chunk.sorted_by;
  source.index = open_column(chunk, Column::index, "index");
  if (has_high_word_) source.key = open_column(chunk, Column::high_word, "key");
  if (!chunk[Column::value].empty()) open_column(chunk, Column::value, "value");  // checks it
  source.value = view_values(chunk[Column::value], chunk.value_exponent);
  const auto order = static_cast<std::size_t>(layout_.order);
  const bool bounded = chunk.lower.size() == order && chunk.upper.size() == order;
  for (std::size_t n = 0; n < order; ++n) {
    const std::uint64_t lower = bounded ? chunk.lower[n] : 0;
    const std::uint64_t upper = bounded ? chunk.upper[n] : layout_.modes[n].length - 1;
    if (lower > upper || upper >= layout_.modes[n].length) {
      fail(chunk.number, "its bounds of mode " + std::to_string(n) + " lie outside the tensor");
    }
    source.range[n] = {static_cast<std::uint32_t>(lower), static_cast<std::uint32_t>(upper)};
    source.places[n] = places_of(n, source.range[n], chunk.number);
  }
  return source;
}

RowRange FrameDecoder::places_of(std::size_t mode, RowRange rows, std::uint64_t chunk) const {
  const RowIndex* const held = held_of(mode);
  if (held == nullptr) return rows;
  const std::uint64_t lower = held->place_of(rows.lower);
  const std::uint64_t end = held->place_of(std::uint64_t{rows.upper} + 1);
  if (lower == end) fail(chunk, "its bounds of mode " + std::to_string(mode) + " are new since rows were shared out");
  return {static_cast<std::uint32_t>(lower), static_cast<std::uint32_t>(end - 1)};
}

void FrameDecoder::decode(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const {
  write_rows(read_bits(source, frame, ring), frame, ring);
  check_rows(source, frame, ring);
  decode_values(source, frame, ring.values() + frame % 2 * frame_entries);
}

FrameDecoder::FrameBits FrameDecoder::read_bits(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const {
  const std::uint64_t first = frame * frame_entries;
  if (source.decoded != nullptr) {
    return bits_of(source.decoded->indices.data() + first,
                   has_high_word_ ? source.decoded->keys.data() + first : nullptr);
  }
  FrameBits bits;
  bits.by_pext = extraction_ == BitExtraction::pext;
  std::uint64_t* lows = ring.scratch(0);
  decode_line_frame(source.index, frame, lows);
  if (!bits.by_pext) look_up_all(low_tables_, lows);
  bits.lows = lows;
  if (!has_high_word_) return bits;
  std::uint64_t* keys = ring.scratch(1);
  decode_line_frame(source.key, frame, keys);
  if (HWY_DYNAMIC_DISPATCH(differing_bits)(keys) == 0) {
    bits.fixed_key = look_up(key_tables_, keys[0]);
    return bits;
  }
  if (!bits.by_pext) look_up_all(key_tables_, keys);
  bits.keys = keys;
  return bits;
}

FrameDecoder::FrameBits FrameDecoder::bits_of(const std::uint64_t* indices, const std::uint64_t* keys) const {
  FrameBits bits;
  bits.by_pext = extraction_ == BitExtraction::pext;
  bits.lows = indices;
  if (!has_high_word_) return bits;
  bits.keys = keys;
  if (HWY_DYNAMIC_DISPATCH(differing_bits)(keys) != 0) return bits;
  bits.keys = nullptr;
  bits.fixed_key = bits.by_pext ? look_up(key_tables_, *keys) : *keys;
  return bits;
}

void FrameDecoder::write_rows(const FrameBits& bits, std::uint64_t frame, FrameRing& ring) const {
  for (int n = 0; n < layout_.order; ++n) {
    const ModeLayout& mode = layout_.modes[static_cast<std::size_t>(n)];
    const FieldPlace& place = fields_[static_cast<std::size_t>(n)];
    const std::uint64_t* keys = mode.high_bits > 0 ? bits.keys : nullptr;
    const auto fixed =
        static_cast<std::uint32_t>((bits.fixed_key >> place.high_shift & place.high_field) << place.low_bits);
    std::uint32_t* rows = ring.rows(n) + frame % 2 * frame_entries;
    if (bits.by_pext) {
      rows_by_pext(bits.lows, mode.low_mask, fixed, rows);
      if (keys != nullptr) add_key_by_pext(keys, mode.high_mask, place.low_bits, rows);
    } else {
      HWY_DYNAMIC_DISPATCH(rows_of_fields)(bits.lows, keys, place, fixed, rows);
    }
  }
}

void FrameDecoder::check_rows(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const {
  const auto count = static_cast<std::size_t>(source.entries_of(frame));
  for (int n = 0; n < layout_.order; ++n) {
    const RowRange allowed = source.range[static_cast<std::size_t>(n)];
    std::uint32_t* rows = ring.rows(n) + frame % 2 * frame_entries;
    std::fill(rows + count, rows + frame_entries, allowed.lower);
    if (!source.rows_proved) {
      const RowRange found = HWY_DYNAMIC_DISPATCH(range_of_rows)(rows);
      if (found.lower < allowed.lower || found.upper > allowed.upper) {
        std::fill_n(rows, frame_entries, source.places[static_cast<std::size_t>(n)].lower);
        fail_at_row(source, n, allowed);
      }
    }
    write_places(source, n, count, rows);
  }
}

void FrameDecoder::write_places(const FrameSource& source, int mode, std::size_t count, std::uint32_t* rows) const {
  const auto n = static_cast<std::size_t>(mode);
  const RowIndex* const held = held_of(n);
  if (held == nullptr) return;
  const std::int64_t lost = HWY_DYNAMIC_DISPATCH(rows_to_places)(held->words().data(), count, rows);
  std::fill(rows + count, rows + frame_entries, source.places[n].lower);
  if (lost < 0) return;
  std::fill_n(rows, frame_entries, source.places[n].lower);
  fail(source.chunk, "mode " + std::to_string(mode) + " has coordinate " + std::to_string(lost) +
                         ", which is new since rows were shared out");
}

void FrameDecoder::decode_values(const FrameSource& source, std::uint64_t frame, double* values) const {
  if (const double* const given = source.values_of(frame); given != nullptr) {
    std::copy_n(given, frame_entries, values);
  } else if (source.decoded != nullptr) {
    std::fill_n(values, frame_entries, 1.0);
  } else {
    decode_value_frame(source.value, frame, values);
  }
}

DecodedChunk FrameDecoder::make_decoded(const FrameSource& source) const {
  return {source.nnz, has_high_word_, source.has_values()};
}

void FrameDecoder::decode_into(const FrameSource& source, std::uint64_t frame, FrameRing& ring,
                               DecodedChunk& out) const {
  const std::uint64_t first = frame * frame_entries;
  decode_bits(source, frame, ring, out.indices.data() + first, out.keys.data() + (has_high_word_ ? first : 0),
              out.values.data() + (source.has_values() ? first : 0));
}

void FrameDecoder::decode_bits(const FrameSource& source, std::uint64_t frame, FrameRing& ring, std::uint64_t* indices,
                               std::uint64_t* keys, double* values) const {
  if (decodes_to_lines()) return decode_lines(source, frame, indices, values);
  if (source.decoded != nullptr) {
    const std::uint64_t first = frame * frame_entries;
    std::copy_n(source.decoded->indices.data() + first, frame_entries, indices);
    if (has_high_word_) std::copy_n(source.decoded->keys.data() + first, frame_entries, keys);
  } else {
    decode_line_frame(source.index, frame, indices);
    if (has_high_word_) decode_line_frame(source.key, frame, keys);
    if (extraction_ == BitExtraction::tables) {
      look_up_all(low_tables_, indices);
      if (has_high_word_) look_up_all(key_tables_, keys);
    }
  }
  if (source.has_values()) decode_values(source, frame, values);
  write_rows(bits_of(indices, keys), frame, ring);
  check_rows(source, frame, ring);
}

void FrameDecoder::decode_lines(const FrameSource& source, std::uint64_t frame, std::uint64_t* lines,
                                double* values) const {
  if (source.decoded != nullptr) {
    std::copy_n(source.decoded->indices.data() + frame * frame_entries, frame_entries, lines);
  } else {
    decode_line_frame(source.index, frame, lines);
    std::fill(lines + source.entries_of(frame), lines + frame_entries, lines[0]);
    if (!source.rows_proved) check_lines(source, lines);
  }
  if (source.has_values()) decode_values(source, frame, values);
}

// Checks line indices without extracting rows: the bits of a mode within a line index have the same order as its rows.
void FrameDecoder::check_lines(const FrameSource& source, const std::uint64_t* lines) const {
  const std::span<const std::uint64_t> all{lines, frame_entries};
  const BitRange box = box_of_bits(all);
  for (int n = 0; n < layout_.order; ++n) {
    const std::uint64_t mask = row_mask(n);
    const RowRange allowed = source.range[static_cast<std::size_t>(n)];
    const auto holds = [&](BitRange found) {
      return pext_one(found.lower, mask) >= allowed.lower && pext_one(found.upper, mask) <= allowed.upper;
    };
    // The box suffices for most frames: sorted lines share their high bits.
    if (!holds(box) && !holds(range_of_bits(all, mask))) fail_at_row(source, n, allowed);
  }
}

NonzeroSpan FrameDecoder::lines_of(const FrameSource& source, std::uint64_t frame, FrameRing& ring) const {
  const auto count = static_cast<std::size_t>(source.entries_of(frame));
  if (source.decoded != nullptr) {
    return {source.decoded->indices.data() + frame * frame_entries, nullptr, source.values_of(frame), count};
  }
  decode_lines(source, frame, ring.scratch(0), ring.values());
  return {ring.scratch(0), nullptr, source.has_values() ? ring.values() : nullptr, count};
}

NonzeroSpan FrameDecoder::tile_of(const FrameSource& source, FrameRange frames, FrameRing& ring) const {
  const std::uint64_t begin = frames.first * frame_entries;
  const auto count = static_cast<std::size_t>(std::min(frames.end * frame_entries, source.nnz) - begin);
  if (source.decoded != nullptr) {
    return {source.decoded->indices.data() + begin, nullptr, source.values_of(frames.first), count};
  }
  for (std::uint64_t frame = frames.first; frame < frames.end; ++frame) {
    const std::uint64_t at = (frame - frames.first) * frame_entries;
    decode_lines(source, frame, ring.tile_indices() + at, ring.tile_values() + at);
  }
  return {ring.tile_indices(), nullptr, source.has_values() ? ring.tile_values() : nullptr, count};
}

void FrameDecoder::expand(const NonzeroSpan& nonzeros, FrameRing& ring) const {
  write_rows(bits_of(nonzeros.indices, nonzeros.keys), 0, ring);
  for (int n = 0; n < layout_.order; ++n) {
    const RowIndex* const held = held_of(static_cast<std::size_t>(n));
    if (held != nullptr) HWY_DYNAMIC_DISPATCH(rows_to_places)(held->words().data(), nonzeros.count, ring.rows(n));
  }
  if (nonzeros.values != nullptr) {
    std::copy_n(nonzeros.values, nonzeros.count, ring.values());
  } else {
    std::fill_n(ring.values(), nonzeros.count, 1.0);
  }
}

std::size_t count_runs(std::span<const std::uint64_t> lines, std::uint64_t mask) {
  return HWY_DYNAMIC_DISPATCH(runs_under)(lines.data(), lines.size(), mask);
}

}  // namespace blco
#endif  // HWY_ONCE
