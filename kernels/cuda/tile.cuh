// A warp decodes a frame into its tile in shared memory, in the order of the target's rows, or in slots, to be weighed
// first. Nguyen et al., ICS 2022, section 5.1: the processing phase.
//
// A lane keeps its eight entries in registers until it knows where they go. Frames are always whole: past a chunk's end
// the last nonzero is repeated with value 0.
#pragma once

#include <cub/warp/warp_scan.cuh>

#include "blco/frame_lanes.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mttkrp.hpp"

namespace blco::cuda {

constexpr unsigned all_lanes = 0xffffffffu;

// Tensors of orders 3 to 5 have kernels of their own at common ranks.
constexpr int any_order = 0;

// Entry j of a lane is entry lane * lane_entries + j of the frame.
template <class T>
using LaneEntries = T[lane_entries];

struct alignas(16) FourWords {
  std::uint32_t word[4];
};

// Shared memory of one warp. Positions 0 to 255 are those of entries in order; slots, those before.
struct WarpTile {
  std::byte* entries;      // by position: value, then the rows of all modes but the target; before: scratch
  std::uint32_t* targets;  // by position; before: the histogram
  std::uint8_t* ends;      // bit p % 8 of byte p / 8: a segment ends at position p
  std::uint64_t* keys;     // by slot: fields of the key; of lines of more than 64 bits
};

__device__ inline WarpTile carve_tile(std::byte* memory, int order) {
  WarpTile tile;
  tile.entries = memory;
  memory += tile_entry_bytes(order) * (frame_entries + tile_gaps);
  tile.targets = reinterpret_cast<std::uint32_t*>(memory);
  memory += frame_entries * sizeof(std::uint32_t);
  tile.ends = reinterpret_cast<std::uint8_t*>(memory);
  memory += frame_entries / 8;
  tile.keys = reinterpret_cast<std::uint64_t*>(memory);
  return tile;
}

// Where the entry of a position lies, counted in entries. Shares of 64 positions or more are followed by a gap each, so
// that groups of lanes read different banks.
template <int Share>
__device__ constexpr std::uint32_t place_of(std::uint32_t position) {
  return Share >= 64 ? position + position / Share : position;
}

// The place of a lane's entry j in slot order: slot j * warp_lanes + lane.
template <int Share>
__device__ constexpr std::uint32_t slot_place(int j, int lane) {
  static_assert(Share % warp_lanes == 0);
  return place_of<Share>(static_cast<std::uint32_t>(j * warp_lanes)) + static_cast<std::uint32_t>(lane);
}

// An entry of a tile as it lies there, to be read at once.
template <int Order>
struct alignas(Order % 4 == 3 ? 16 : 8) TileEntry {
  std::uint32_t word[tile_entry_bytes(Order) / 4];

  template <class Sum>
  __device__ Sum value() const {
    if constexpr (sizeof(Sum) == sizeof(double)) {
      return __hiloint2double(static_cast<int>(word[1]), static_cast<int>(word[0]));
    } else {
      return __uint_as_float(word[0]);
    }
  }
  __device__ std::uint32_t row(int k) const { return word[2 + k]; }
};

// Writes row 0 of every mode into the gaps, since groups of lanes read ahead of their shares. Nothing else is ever
// placed there, and scratch ends before the first gap.
template <int Share, int Order>
__device__ inline void clear_gaps(const WarpTile& tile, int lane) {
  constexpr int between = frame_entries / Share - 1;
  static_assert(Share * tile_entry_bytes(Order) >= frame_entries * static_cast<int>(sizeof(std::uint64_t)));
  if (lane >= tile_gaps) return;
  const int place = lane < between ? (lane + 1) * (Share + 1) - 1 : frame_entries + lane;
  reinterpret_cast<TileEntry<Order>*>(tile.entries)[place] = TileEntry<Order>{};
}

// The order of a mode's rows, in which equal rows are adjacent: a stable counting sort by the lowest eight bits of the
// row. Neighbours in line order agree in the high bits of every mode, so rows in one bucket are nearly always equal;
// where they are not, a row merely gets more segments. The order depends on the data alone.
constexpr unsigned bucket_count = 256;

template <class Number>
__device__ inline Number exclusive_sum(Number own) {
  typename cub::WarpScan<Number>::TempStorage none;
  Number before;
  cub::WarpScan<Number>(none).ExclusiveSum(own, before);
  return before;
}

// The positions of the lane's eight entries, one byte each.
__device__ inline std::uint64_t sort_positions(const LaneEntries<std::uint32_t>& targets, int lane,
                                               std::uint32_t* histogram) {
  auto* quads = reinterpret_cast<FourWords*>(histogram);
  quads[lane] = quads[lane + warp_lanes] = FourWords{};
  __syncwarp();
  const unsigned lower_lanes = (1u << lane) - 1;
  std::uint64_t positions = 0;  // at first within buckets
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const unsigned bucket = targets[j] % bucket_count;
    const unsigned peers = __match_any_sync(all_lanes, bucket);
    const auto before = static_cast<std::uint32_t>(__popc(peers & lower_lanes));
    const std::uint32_t earlier = histogram[bucket];
    __syncwarp();
    if (before == 0) histogram[bucket] = earlier + static_cast<std::uint32_t>(__popc(peers));
    __syncwarp();
    positions |= static_cast<std::uint64_t>(earlier + before) << (8 * j);
  }

  // A lane scans four buckets of the lower half and four of the upper; sums of the halves share a word.
  FourWords lower = quads[lane];
  FourWords upper = quads[lane + warp_lanes];
  const std::uint32_t own = lower.word[0] + lower.word[1] + lower.word[2] + lower.word[3] +
                            ((upper.word[0] + upper.word[1] + upper.word[2] + upper.word[3]) << 16);
  const std::uint32_t start = exclusive_sum(own);
  std::uint32_t at_lower = start & 0xffff;
  std::uint32_t at_upper = (start >> 16) + (__shfl_sync(all_lanes, start + own, warp_lanes - 1) & 0xffff);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t begin_lower = at_lower;
    const std::uint32_t begin_upper = at_upper;
    at_lower += lower.word[i];
    at_upper += upper.word[i];
    lower.word[i] = begin_lower;
    upper.word[i] = begin_upper;
  }
  quads[lane] = lower;
  quads[lane + warp_lanes] = upper;
  __syncwarp();

#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    positions += static_cast<std::uint64_t>(histogram[targets[j] % bucket_count]) << (8 * j);
  }
  __syncwarp();
  return positions;
}

__device__ inline std::uint32_t position_of(std::uint64_t positions, int j) {
  return static_cast<std::uint32_t>(positions >> (8 * j)) & 255;
}

// Marks the last position of each segment. A segment ends at the latest with its share of the tile.
template <int Share>
__device__ inline void mark_ends(const WarpTile& tile, int lane) {
  const auto* quads = reinterpret_cast<const FourWords*>(tile.targets) + 2 * lane;
  const FourWords lower = quads[0];
  const FourWords upper = quads[1];
  const std::uint32_t next = __shfl_down_sync(all_lanes, lower.word[0], 1);
  unsigned ends = 0;
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    ends |= lower.word[j] != lower.word[j + 1] ? 1u << j : 0;
    ends |= upper.word[j] != upper.word[j + 1] ? 16u << j : 0;
  }
  ends |= lower.word[3] != upper.word[0] ? 8u : 0;
  ends |= (lane + 1) * lane_entries % Share == 0 || upper.word[3] != next ? 128u : 0;
  tile.ends[lane] = static_cast<std::uint8_t>(ends);
}

// Reorders a tile, which has the rows of mode `from` for targets, by those of mode `to`, which is not smaller. All
// lanes read and write any entry, so that the tile must be theirs before, and is ready for them behind it.
template <int Share>
__device__ inline void reorder_tile(const WarpTile& tile, int order, int from, int to, int lane) {
  const auto bytes_of_entry = static_cast<unsigned>(tile_entry_bytes(order));
  const auto own = [&](int j) { return tile.entries + slot_place<Share>(j, lane) * bytes_of_entry; };
  LaneEntries<std::uint32_t> targets;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) targets[j] = tile.targets[j * warp_lanes + lane];
  for (int mode = from; mode < to; ++mode) {  // the target changes places with the next mode's row
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) {
      auto* row = reinterpret_cast<std::uint32_t*>(own(j) + 8 + 4 * mode);
      const std::uint32_t next = *row;
      *row = targets[j];
      targets[j] = next;
    }
  }
  __syncwarp();
  const std::uint64_t positions = sort_positions(targets, lane, tile.targets);
  LaneEntries<std::uint32_t> at;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    tile.targets[position_of(positions, j)] = targets[j];
    at[j] = place_of<Share>(position_of(positions, j)) * bytes_of_entry;
  }
  for (unsigned word = 0; word < bytes_of_entry; word += sizeof(std::uint64_t)) {
    LaneEntries<std::uint64_t> words;
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) words[j] = *reinterpret_cast<const std::uint64_t*>(own(j) + word);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) *reinterpret_cast<std::uint64_t*>(tile.entries + at[j] + word) = words[j];
  }
  __syncwarp();
  mark_ends<Share>(tile, lane);
  __syncwarp();
}

__device__ inline FrameLanes open_frame(const PayloadView& payload, std::uint32_t frame) {
  const FrameEntry entry = payload.entry(frame);
  return {payload.bytes + 8 * std::uint64_t{entry.offset}, unpack_descriptor(entry.descriptor), payload.base};
}

// Decodes the lane's lines or keys. `scratch` holds 256 words, and is free again on return.
__device__ inline void decode_lines(const PayloadView& payload, std::uint32_t frame, int count, int lane,
                                    std::uint64_t* scratch, LaneEntries<std::uint64_t>& lines) {
  const FrameLanes lanes = open_frame(payload, frame);
  lanes.unpack(lane, lines);
  if (lanes.shape.exceptions > 0) {
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) scratch[j * warp_lanes + lane] = lines[j];
    __syncwarp();
    lanes.patch(lane, scratch);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) lines[j] = scratch[j * warp_lanes + lane];
    __syncwarp();
  }
  if (count < frame_entries) {
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) lines[j] = lane * lane_entries + j < count ? lines[j] : 0;
  }
  const std::uint64_t before = lanes.first() + exclusive_sum(FrameLanes::accumulate(lines));
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) lines[j] += before;
}

// Replaces each word by the union of its table entries. Bits above the highest in which words of the warp differ are
// looked up once: neighbours in line order differ in few low bits.
__device__ inline void look_up(const std::uint64_t* tables, int count, LaneEntries<std::uint64_t>& words) {
  const std::uint64_t first = __shfl_sync(all_lanes, words[0], 0);
  std::uint64_t differs = 0;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) differs |= words[j] ^ first;
  const unsigned low = __reduce_or_sync(all_lanes, static_cast<unsigned>(differs));
  const unsigned high = __reduce_or_sync(all_lanes, static_cast<unsigned>(differs >> 32));
  const int bits = high != 0 ? 64 - __clz(static_cast<int>(high)) : 32 - __clz(static_cast<int>(low));
  const int differing = min(tables_of(bits), count);
  const auto found_in = [tables](int table, std::uint64_t word) {
    return tables[table * table_words + static_cast<int>(word >> table_bits * table & (table_words - 1))];
  };

  std::uint64_t common = 0;
  for (int table = differing; table < count; ++table) common |= found_in(table, first);
  LaneEntries<std::uint64_t> found;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) found[j] = common;
#pragma unroll
  for (int table = 0; table < tables_of(64); ++table) {
    if (table >= differing) break;
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) found[j] |= found_in(table, words[j]);
  }
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) words[j] = found[j];
}

// Replaces rows of a mode by their places, if it has held rows. One outside the mode or not held is recorded, and row 0
// takes its place; the pass fails later.
template <class Arguments>
__device__ inline void take_places(const Arguments& arguments, const ChunkPart& part, int mode,
                                   LaneEntries<std::uint32_t>& rows) {
  const HeldRows held = arguments.held[mode];
  bool lost = false;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const bool legal = rows[j] <= held.last;
    lost |= !legal;
    rows[j] = legal ? rows[j] : 0;
    if (held.words == nullptr) continue;
    const RowIndex::Word& word = held.words[rows[j] / 64];
    // The row's bit on top, and below it those of the rows before.
    const std::uint64_t bits = word.held << (63 - rows[j] % 64);
    const bool is_held = static_cast<std::int64_t>(bits) < 0;
    lost |= !is_held;
    rows[j] = is_held ? static_cast<std::uint32_t>(word.before) + static_cast<std::uint32_t>(__popcll(bits)) - 1 : 0;
  }
  if (!lost) return;
  atomicCAS(arguments.fault, FaultRecord{0}, (FaultRecord{part.chunk} + 1) << 8 | static_cast<unsigned>(mode));
}

// Rows of one mode, all of them legal, or places where it has held rows: bits.last is 0 there, since of all rows only
// row 0 needs no look, whose place is 0. rows_of_chunk has seen that row 0 is held if the chunk has it.
template <class Arguments>
__device__ inline void rows_of(const Arguments& arguments, const ChunkPart& part, const WarpTile& tile, int mode,
                               int lane, const LaneEntries<std::uint64_t>& indices, LaneEntries<std::uint32_t>& rows) {
  const RowBits bits = arguments.rows[mode];
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) rows[j] = static_cast<std::uint32_t>(indices[j] >> bits.shift) & bits.field;
  if (bits.high_field != 0) {
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) {
      const auto high = static_cast<std::uint32_t>(tile.keys[j * warp_lanes + lane] >> bits.high_shift);
      rows[j] |= (high & bits.high_field) << bits.low_bits;
    }
  }
  bool beyond = false;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) beyond |= rows[j] > bits.last;
  if (beyond) take_places(arguments, part, mode, rows);
}

// Adds the exceptions to the fields of values, which lie at their places.
template <int Share>
__device__ inline void patch_values(const FrameLanes& lanes, std::uint64_t positions, int lane, int bytes_of_entry,
                                    std::byte* entries) {
  for (int first = 0; first < lanes.shape.exceptions; first += warp_lanes) {
    const int e = first + lane;
    const int entry = e < lanes.shape.exceptions ? lanes.exception_entry(e) : 0;
    const std::uint64_t places = __shfl_sync(all_lanes, positions, entry / lane_entries);
    if (e >= lanes.shape.exceptions) continue;
    const std::uint32_t place = place_of<Share>(position_of(places, entry % lane_entries));
    *reinterpret_cast<std::uint64_t*>(entries + place * static_cast<unsigned>(bytes_of_entry)) |=
        lanes.exception_bits(e);
  }
}

// Writes the values to their places; `at[j]` is the byte offset of entry j's place.
template <class Sum, int Share>
__device__ inline void place_values(const PayloadView& payload, std::uint32_t frame, int count, int lane,
                                    std::uint64_t positions, const LaneEntries<std::uint32_t>& at, int bytes_of_entry,
                                    std::byte* entries) {
  LaneEntries<double> values;
  if (payload.bytes == nullptr) {
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) values[j] = 1;
  } else if (payload.codec == Codec::integer || payload.codec == Codec::decimal) {
    const FrameLanes lanes = open_frame(payload, frame);
    LaneEntries<std::uint64_t> fields;
    lanes.unpack(lane, fields);
    if (lanes.shape.exceptions > 0) {
#pragma unroll
      for (int j = 0; j < lane_entries; ++j) *reinterpret_cast<std::uint64_t*>(entries + at[j]) = fields[j];
      __syncwarp();
      patch_values<Share>(lanes, positions, lane, bytes_of_entry, entries);
      __syncwarp();
#pragma unroll
      for (int j = 0; j < lane_entries; ++j) fields[j] = *reinterpret_cast<const std::uint64_t*>(entries + at[j]);
    }
    const std::uint64_t first = lanes.first();
#pragma unroll
    for (int j = 0; j < lane_entries; ++j)
      values[j] = static_cast<double>(static_cast<std::int64_t>(first + fields[j]));
  } else {
    const std::uint64_t begin = std::uint64_t{frame} * frame_entries;
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) {
      const std::uint64_t entry = begin + static_cast<std::uint64_t>(min(lane * lane_entries + j, count - 1));
      values[j] = payload.codec == Codec::f32
                      ? static_cast<double>(reinterpret_cast<const float*>(payload.raw())[entry])
                      : reinterpret_cast<const double*>(payload.raw())[entry];
    }
  }
  if (payload.divisor != 1) {
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) values[j] /= payload.divisor;
  }
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const bool counts = lane * lane_entries + j < count;
    *reinterpret_cast<Sum*>(entries + at[j]) = counts ? static_cast<Sum>(values[j]) : Sum{0};
  }
}

// Nonzeros of a frame; the rest of it repeats the last one.
__device__ inline int entries_of(const ChunkPart& part, std::uint32_t frame) {
  const std::uint32_t left = part.nnz - frame * frame_entries;
  return left < frame_entries ? static_cast<int>(left) : frame_entries;
}

// Decodes the BLCO indices of the lane's entries, and the fields of their keys into the tile.
template <class Arguments>
__device__ inline void decode_indices(const Arguments& arguments, const ChunkPart& part, const std::uint64_t* tables,
                                      const WarpTile& tile, std::uint32_t frame, int count, int lane,
                                      LaneEntries<std::uint64_t>& indices) {
  auto* scratch = reinterpret_cast<std::uint64_t*>(tile.entries);
  if (arguments.has_high_word) {
    decode_lines(part.key, frame, count, lane, scratch, indices);
    look_up(tables + arguments.index_tables * table_words, arguments.key_tables, indices);
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) tile.keys[j * warp_lanes + lane] = indices[j];
  }
  decode_lines(part.index, frame, count, lane, scratch, indices);
  look_up(tables, arguments.index_tables, indices);
}

// Writes the rows of all modes but `mode` to the places of the lane's entries; `at[j]` is the byte offset of entry j's.
// `mode` by reference: as an argument of the kernel it then takes no register.
template <class Arguments>
__device__ inline void place_rows(const Arguments& arguments, const ChunkPart& part, const WarpTile& tile, int order,
                                  const int& mode, int lane, const LaneEntries<std::uint64_t>& indices,
                                  const LaneEntries<std::uint32_t>& at) {
  LaneEntries<std::uint32_t> rows;
#pragma unroll
  for (int k = 0; k < order - 1; ++k) {
    rows_of(arguments, part, tile, k < mode ? k : k + 1, lane, indices, rows);
#pragma unroll
    for (int j = 0; j < lane_entries; ++j)
      *reinterpret_cast<std::uint32_t*>(tile.entries + at[j] + 8 + 4 * k) = rows[j];
  }
}

// Decodes frame `frame` of a chunk and orders it by the rows of the pass's mode. Each group of lanes adds `Share`
// entries. On return, the tile is ready for all lanes.
template <int Share, int Order, class Sum, class Factor>
__device__ inline void prepare_tile(const MttkrpArguments<Sum, Factor>& arguments, const ChunkPart& part,
                                    const std::uint64_t* tables, const WarpTile& tile, std::uint32_t frame, int lane) {
  const int order = Order == any_order ? arguments.order : Order;
  const int count = entries_of(part, frame);
  LaneEntries<std::uint64_t> indices;
  decode_indices(arguments, part, tables, tile, frame, count, lane, indices);
  LaneEntries<std::uint32_t> rows;
  rows_of(arguments, part, tile, arguments.mode, lane, indices, rows);
  const std::uint64_t positions = sort_positions(rows, lane, tile.targets);
  LaneEntries<std::uint32_t> at;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    tile.targets[position_of(positions, j)] = rows[j];
    at[j] = place_of<Share>(position_of(positions, j)) * static_cast<unsigned>(tile_entry_bytes(order));
  }
  place_rows(arguments, part, tile, order, arguments.mode, lane, indices, at);
  __syncwarp();
  mark_ends<Share>(tile, lane);
  place_values<Sum, Share>(part.value, frame, count, lane, positions, at, tile_entry_bytes(order), tile.entries);
  __syncwarp();
}

// Decodes frame `frame` of a chunk, and leaves it in slots; `mode` is the target. On return, the tile is ready for all
// lanes.
template <class Sum, int Share, int Order, class Arguments>
__device__ inline void lay_out_tile(const Arguments& arguments, const ChunkPart& part, const std::uint64_t* tables,
                                    const WarpTile& tile, int mode, std::uint32_t frame, int lane) {
  const int order = Order == any_order ? arguments.order : Order;
  const int count = entries_of(part, frame);
  LaneEntries<std::uint64_t> indices;
  decode_indices(arguments, part, tables, tile, frame, count, lane, indices);
  LaneEntries<std::uint32_t> rows;
  rows_of(arguments, part, tile, mode, lane, indices, rows);
  std::uint64_t slots = 0;
  LaneEntries<std::uint32_t> at;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const auto slot = static_cast<unsigned>(j * warp_lanes + lane);
    tile.targets[slot] = rows[j];
    slots |= std::uint64_t{slot} << (8 * j);
    at[j] = slot_place<Share>(j, lane) * static_cast<unsigned>(tile_entry_bytes(order));
  }
  place_rows(arguments, part, tile, order, mode, lane, indices, at);
  place_values<Sum, Share>(part.value, frame, count, lane, slots, at, tile_entry_bytes(order), tile.entries);
  __syncwarp();
}

}  // namespace blco::cuda
