// Initial factors: one number of the counter-based generator per element, or a model's own.
#include "engine/fit/initial_factors.hpp"

#include <algorithm>
#include <vector>

#include "engine/common/counter_random.hpp"

namespace blco {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;

void load_random_factor(std::uint64_t seed, int mode, std::uint64_t length, int rank, OriginalRows& rows) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_bytes / (columns * sizeof(double)));
  std::vector<double> block;
  for (std::uint64_t first = 0; first < length; first += block_rows) {
    block.resize(static_cast<std::size_t>(std::min(block_rows, length - first) * columns));
    fill_initial_rows(seed, mode, first, rank, block);
    rows.load(mode, first, block);
  }
}

}  // namespace

void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows) {
  const RandomStream random(seed, static_cast<std::uint64_t>(mode));
  const std::uint64_t first = first_row * static_cast<std::uint64_t>(rank);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = random.uniform(first + i);
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
    if (options.initial != nullptr) {
      rows.load(mode, 0, options.initial->factors[n]);
    } else {
      load_random_factor(options.seed, mode, tensor.shape[n], options.rank, rows);
    }
  }
  rows.release();
}

}  // namespace blco
