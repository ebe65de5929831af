// Copies of a decoded chunk for the passes of one mode, their nonzeros sorted by target row within tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/frame_rows.hpp"

namespace blco {

// Nonzeros that are sorted together. In so many neighbours in line order the rows of the other modes are still few
// enough for the second cache.
inline constexpr std::uint64_t sorted_tile_frames = 128;
inline constexpr std::uint64_t sorted_tile_entries = sorted_tile_frames * frame_entries;

// Where output and factors take more than this together, they miss the last caches, and rows prefetched in line order
// are as fast. A wide output row costs more in line order, so that sorting pays for longer.
constexpr std::uint64_t max_sorted_matrix_bytes(std::uint64_t row_bytes) {
  constexpr std::uint64_t narrow = std::uint64_t{16} << 20;
  return row_bytes >= 4 * cache_line_bytes ? 4 * narrow : narrow;
}

// Nonzeros per row of a tile, below which the ends of rows, which a processor cannot foresee, cost more than is saved:
// that is so much per line of a row.
constexpr std::uint64_t min_sorted_run(std::uint64_t row_bytes) {
  constexpr std::uint64_t worth_bytes = 24 * cache_line_bytes;
  return row_bytes >= worth_bytes / 3 ? 3 : worth_bytes / row_bytes;
}

// Sorting a decoded chunk for a mode takes as long as it saves in about so many passes: short jobs do without.
inline constexpr int passes_before_sorting = 8;

// Nonzeros of equal target row are neighbours within a tile, in the order that they had, so that every row is added up
// as from the chunk itself, to the same bits. Of each line index bit 63 says that its row is not the one before's.
struct SortedChunk {
  AlignedBuffer<std::uint64_t> lines;
  AlignedBuffer<double> values;  // empty: all are 1
};

// Bytes of a SortedChunk at most.
std::uint64_t sorted_chunk_bytes(std::uint64_t nnz);

// Sorts the `nnz` nonzeros of `chunk` by pext(line, row_mask), which takes a CPU with pext; bit 63 is 0 in all lines.
// Tiles lie within one of the parts that a pass over the chunk's frames is cut into, as many as `executor` has threads.
// None where a row of a tile has fewer than `min_run` nonzeros on average.
std::optional<SortedChunk> sort_chunk(const DecodedChunk& chunk, std::uint64_t nnz, std::uint64_t row_mask,
                                      std::uint64_t min_run, Executor& executor);

// Whether decoded chunks may gain by being sorted: line indices have a bit to spare, and factors are not too large.
bool can_sort(const BackendConfig& config);

// Bytes of config.sorted_bytes that can be of use to decoded chunks with `nnzs` nonzeros; 0 where sorting does not pay.
std::uint64_t host_sorted_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs, int threads);

// Bytes that sort_chunk takes beyond its result.
std::uint64_t sort_scratch_bytes(int threads);

}  // namespace blco
