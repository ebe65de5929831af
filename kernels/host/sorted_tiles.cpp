// A stable counting sort per tile.
#include "kernels/host/sorted_tiles.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "blco/bits.hpp"
#include "kernels/host/row_matrix.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define BLCO_USE_BMI2 __attribute__((target("bmi2")))
#else
#define BLCO_USE_BMI2
#endif

namespace blco {
namespace {

constexpr std::uint64_t row_begins = std::uint64_t{1} << 63;

BLCO_USE_BMI2 void find_rows(const std::uint64_t* lines, std::uint64_t count, std::uint64_t mask, std::uint32_t* rows) {
#if defined(__x86_64__)
  for (std::uint64_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(_pext_u64(lines[i], mask));
#else
  for (std::uint64_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(pext_portable(lines[i], mask));
#endif
}

// A thread's scratch for sorting a tile.
struct Scratch {
  AlignedBuffer<std::uint32_t> rows{sorted_tile_entries};
  AlignedBuffer<std::uint32_t> ends{sorted_tile_entries};  // per row, from the lowest row of the tile on

  static std::uint64_t bytes() { return 2 * mapped_bytes(sorted_tile_entries * sizeof(std::uint32_t)); }
};

// Sorts nonzeros [first, first + count) of `chunk` into the same places of `sorted`. Returns the number of distinct
// rows. If rows are too far apart to count, does nothing and returns `count`.
std::uint64_t sort_tile(const DecodedChunk& chunk, std::uint64_t first, std::uint64_t count, std::uint64_t row_mask,
                        Scratch& scratch, SortedChunk& sorted) {
  const std::uint64_t* lines = chunk.indices.data() + first;
  std::uint32_t* rows = scratch.rows.data();
  find_rows(lines, count, row_mask, rows);
  const auto [lowest, highest] = std::minmax_element(rows, rows + count);
  const std::uint32_t lower = *lowest;
  const std::uint64_t span = std::uint64_t{*highest} - lower + 1;
  if (span > sorted_tile_entries) return count;

  std::uint32_t* ends = scratch.ends.data();
  std::fill_n(ends, span, 0U);
  for (std::uint64_t i = 0; i < count; ++i) ++ends[rows[i] - lower];
  const auto different = span - static_cast<std::uint64_t>(std::count(ends, ends + span, 0U));
  std::exclusive_scan(ends, ends + span, ends, 0U);
  std::uint64_t* to_lines = sorted.lines.data() + first;
  const double* values = chunk.values.size() > 0 ? chunk.values.data() + first : nullptr;
  double* to_values = sorted.values.data() + first;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t to = ends[rows[i] - lower]++;
    to_lines[to] = lines[i];
    if (values != nullptr) to_values[to] = values[i];
  }
  std::uint32_t begin = 0;
  for (std::uint64_t row = 0; row < span; ++row) {
    if (ends[row] > begin) to_lines[begin] |= row_begins;
    begin = ends[row];
  }
  return different;
}

}  // namespace

std::uint64_t sorted_chunk_bytes(std::uint64_t nnz) {
  return mapped_bytes(nnz * sizeof(std::uint64_t)) + mapped_bytes(nnz * sizeof(double));
}

std::uint64_t sort_scratch_bytes(int threads) { return static_cast<std::uint64_t>(threads) * Scratch::bytes(); }

std::optional<SortedChunk> sort_chunk(const DecodedChunk& chunk, std::uint64_t nnz, std::uint64_t row_mask,
                                      std::uint64_t min_run, Executor& executor) {
  if (nnz == 0) return std::nullopt;
  SortedChunk sorted;
  sorted.lines = AlignedBuffer<std::uint64_t>(nnz);
  if (chunk.values.size() > 0) sorted.values = AlignedBuffer<double>(nnz);
  const auto parts = static_cast<std::size_t>(executor.width());
  const std::uint64_t frames = (nnz + frame_entries - 1) / frame_entries;
  std::vector<std::uint64_t> different(parts);
  executor.run(parts, [&](std::size_t part) {
    Scratch scratch;
    const std::uint64_t begin = frames * part / parts * frame_entries;
    const std::uint64_t end = std::min(frames * (part + 1) / parts * frame_entries, nnz);
    for (std::uint64_t first = begin; first < end; first += sorted_tile_entries) {
      const std::uint64_t count = std::min(sorted_tile_entries, end - first);
      const std::uint64_t rows = sort_tile(chunk, first, count, row_mask, scratch, sorted);
      different[part] += rows;
      // Stops early if the first tile shows that sorting does not pay.
      if (rows == count || (first == begin && rows * min_run > count)) {
        different[part] = nnz;
        return;
      }
    }
  });
  const std::uint64_t all = std::accumulate(different.begin(), different.end(), std::uint64_t{0});
  if (all * min_run > nnz) return std::nullopt;
  return sorted;
}

bool has_small_matrices(const BackendConfig& config) {
  const std::uint64_t stride =
      config.precision == Precision::f32 ? padded_rank<float>(config.rank) : padded_rank<double>(config.rank);
  const std::uint64_t factor_row = stride * factor_number_bytes(config.precision);
  const std::uint64_t output_row = stride * output_number_bytes(config.precision);
  // The matrices of a pass over the longest mode, whose rows are those of the output.
  std::uint64_t bytes = std::ranges::max(config.layout.shape()) * (output_row - factor_row);
  for (const std::uint64_t length : config.layout.shape()) bytes += length * factor_row;
  return bytes <= max_sorted_matrix_bytes(output_row);
}

bool can_sort(const BackendConfig& config) {
  int bits = 0;
  for (int mode = 0; mode < config.layout.order(); ++mode) {
    bits += config.layout.mode(mode).low_bits + config.layout.mode(mode).high_bits;
  }
  return has_fast_pext() && bits < 64 && has_small_matrices(config);
}

}  // namespace blco
