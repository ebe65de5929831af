// Copies of a decoded chunk for passes of one mode, with nonzeros sorted by target row within tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/frame_rows.hpp"

namespace blco {

// Nonzeros sorted together. Among that many neighbours in line order, the rows of the other modes are still few enough
// for the L2 cache.
inline constexpr std::uint64_t sorted_tile_frames = 128;
inline constexpr std::uint64_t sorted_tile_entries = sorted_tile_frames * frame_entries;

// If output and factors exceed this total, they miss the last-level cache, and prefetched rows in line order are as
// fast. A wide output row costs more in line order, so sorting pays up to a larger size.
constexpr std::uint64_t max_sorted_matrix_bytes(std::uint64_t row_bytes) {
  constexpr std::uint64_t narrow = std::uint64_t{16} << 20;
  return row_bytes >= 4 * cache_line_bytes ? 4 * narrow : narrow;
}

// Below this mean number of nonzeros per row of a tile, sorting costs more than it saves, because a processor cannot
// predict where rows end. A nonzero saves in proportion to the cache lines of a row.
constexpr std::uint64_t min_sorted_run(std::uint64_t row_bytes) {
  constexpr std::uint64_t worth_bytes = 24 * cache_line_bytes;
  return row_bytes >= worth_bytes / 3 ? 3 : worth_bytes / row_bytes;
}

// Sorting a decoded chunk for a mode pays off after about this many passes, so short jobs skip it.
inline constexpr int passes_before_sorting = 8;

// Within a tile, nonzeros of equal target row are adjacent and keep their order, so that every row has the same bits as
// without sorting. Bit 63 of a line index says that its target row differs from the previous one's.
struct SortedChunk {
  AlignedBuffer<std::uint64_t> lines;
  AlignedBuffer<double> values;  // empty: all are 1
};

// Upper bound of a SortedChunk's memory.
std::uint64_t sorted_chunk_bytes(std::uint64_t nnz);

// Sorts the `nnz` nonzeros of `chunk` by pext(line, row_mask). Tiles do not cross the parts into which a pass cuts the
// chunk's frames, one part per thread of `executor`. Returns nothing if a row of a tile has fewer than `min_run`
// nonzeros on average. Requires: a CPU with pext, and bit 63 clear in all lines.
std::optional<SortedChunk> sort_chunk(const DecodedChunk& chunk, std::uint64_t nnz, std::uint64_t row_mask,
                                      std::uint64_t min_run, Executor& executor);

// True if output and factors are within max_sorted_matrix_bytes.
bool has_small_matrices(const BackendConfig& config);
// True if decoded chunks may gain from sorting: line indices have a spare bit, and factors are not too large.
bool can_sort(const BackendConfig& config);

// Memory that sort_chunk takes beyond its result.
std::uint64_t sort_scratch_bytes(int threads);

}  // namespace blco
