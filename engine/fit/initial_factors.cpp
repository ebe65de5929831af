// Initial factors: one number of the counter-based generator per element, or a model's own.
#include "engine/fit/initial_factors.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/common/counter_random.hpp"

namespace blco {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;

// Loads random rows from `first_row` to the end; `scales` multiply the columns, unless there are none.
void load_random_rows(std::uint64_t seed, int mode, std::uint64_t first_row, std::uint64_t length, int rank,
                      std::span<const double> scales, OriginalRows& rows) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_bytes / (columns * sizeof(double)));
  std::vector<double> block;
  for (std::uint64_t first = first_row; first < length; first += block_rows) {
    block.resize(static_cast<std::size_t>(std::min(block_rows, length - first) * columns));
    fill_initial_rows(seed, mode, first, rank, block);
    for (std::size_t i = 0; !scales.empty() && i < block.size(); ++i) block[i] *= scales[i % scales.size()];
    rows.load(mode, first, block);
  }
}

}  // namespace

void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows) {
  const RandomStream random(seed, static_cast<std::uint64_t>(mode));
  const std::uint64_t first = first_row * static_cast<std::uint64_t>(rank);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = random.uniform(first + i);
}

std::vector<double> new_row_scales(std::span<const double> factor, int rank) {
  const auto columns = static_cast<std::size_t>(rank);
  std::vector<double> squares(columns);
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < factor.size(); ++i) {
    squares[i % columns] += factor[i] * factor[i];
    sums[i % columns] += factor[i];
  }
  const double rows = static_cast<double>(factor.size()) / static_cast<double>(columns);
  std::vector<double> scales(columns);
  // Numbers that are uniform in [0, 1) have a mean square of 1/3.
  for (std::size_t r = 0; r < columns; ++r) scales[r] = std::copysign(std::sqrt(3 * squares[r] / rows), sums[r]);
  return scales;
}

void load_initial_factors(const TensorSummary& tensor, const CpdOptions& options, const ModelFileReader* resumed,
                          OriginalRows& rows) {
  if (resumed != nullptr) {
    resumed->read_factors([&](std::size_t mode, std::uint64_t first_row, std::span<const double> block) {
      rows.load(static_cast<int>(mode), first_row, block);
    });
    return rows.release();
  }
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    const int mode = static_cast<int>(n);
    if (options.initial == nullptr) {
      load_random_rows(options.seed, mode, 0, tensor.shape[n], options.rank, {}, rows);
      continue;
    }
    const std::vector<double>& factor = options.initial->factors[n];
    rows.load(mode, 0, factor);
    const std::uint64_t known = options.initial->shape[n];
    if (known == tensor.shape[n]) continue;
    load_random_rows(options.seed, mode, known, tensor.shape[n], options.rank, new_row_scales(factor, options.rank),
                     rows);
  }
  rows.release();
}

}  // namespace blco
