// Random sparse tensors for tests: coordinates in line order, and the encoded chunks that a container would hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"

namespace blco::testing {

// Coordinate m of entry i is at [i * order + m]. Sorted by line index, without duplicates.
struct CooTensor {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> coordinates;
  std::vector<double> values;

  std::size_t order() const { return shape.size(); }
  std::size_t nnz() const { return values.size(); }
  std::uint64_t coordinate(std::size_t entry, std::size_t mode) const { return coordinates[entry * order() + mode]; }
};

enum class Values { uniform, counts, ones };

struct RandomTensorOptions {
  std::vector<std::uint64_t> shape;
  std::uint64_t nnz = 0;  // entries drawn; equal coordinates are summed, so a tensor may have fewer
  std::uint64_t seed = 1;
  Values values = Values::uniform;  // in [-1, 1), whole numbers from 1 to 5, or 1
  double skew = 1.0;                // coordinate = length * u^skew
};

// The same entries by rising lines of `layout`.
inline CooTensor in_order_of(const CooTensor& tensor, const TensorLayout& layout) {
  std::vector<std::pair<LineIndex, std::size_t>> lines;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    lines.emplace_back(layout.linearize(std::span(tensor.coordinates).subspan(i * tensor.order(), tensor.order())), i);
  }
  std::ranges::sort(lines);
  CooTensor sorted{tensor.shape, {}, {}};
  for (const auto& [line, entry] : lines) {
    for (std::size_t m = 0; m < tensor.order(); ++m) sorted.coordinates.push_back(tensor.coordinate(entry, m));
    sorted.values.push_back(tensor.values[entry]);
  }
  return sorted;
}

// Sorts by line index and sums entries of the same coordinates in the order given (ones stay ones).
inline CooTensor coalesce(const CooTensor& tensor, bool keep_first = false) {
  const CooTensor sorted = in_order_of(tensor, TensorLayout(tensor.shape));
  CooTensor coalesced{tensor.shape, {}, {}};
  const auto point_of = [](const CooTensor& of, std::size_t entry) {
    return std::span(of.coordinates).subspan(entry * of.order(), of.order());
  };
  for (std::size_t i = 0; i < sorted.nnz(); ++i) {
    if (i > 0 && std::ranges::equal(point_of(sorted, i), point_of(sorted, i - 1))) {
      if (!keep_first) coalesced.values.back() += sorted.values[i];
      continue;
    }
    for (std::size_t m = 0; m < tensor.order(); ++m) coalesced.coordinates.push_back(sorted.coordinate(i, m));
    coalesced.values.push_back(sorted.values[i]);
  }
  return coalesced;
}

inline CooTensor random_tensor(const RandomTensorOptions& options) {
  std::mt19937_64 random(options.seed);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  CooTensor tensor{options.shape, {}, {}};
  for (std::uint64_t i = 0; i < options.nnz; ++i) {
    for (const std::uint64_t length : options.shape) {
      const double place = static_cast<double>(length) * std::pow(unit(random), options.skew);
      tensor.coordinates.push_back(std::min(static_cast<std::uint64_t>(place), length - 1));
    }
    const double u = unit(random);
    tensor.values.push_back(options.values == Values::ones     ? 1.0
                            : options.values == Values::counts ? 1.0 + static_cast<int>(5 * u)
                                                               : 2 * u - 1);
  }
  return coalesce(tensor, options.values == Values::ones);
}

// Row-major rows x rank, uniform in [-1, 1).
inline std::vector<double> random_matrix(std::uint64_t rows, int rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  std::vector<double> matrix(static_cast<std::size_t>(rows) * static_cast<std::size_t>(rank));
  for (double& number : matrix) number = unit(random);
  return matrix;
}

inline std::vector<std::vector<double>> random_factors(std::span<const std::uint64_t> shape, int rank,
                                                       std::uint64_t seed) {
  std::vector<std::vector<double>> factors;
  for (const std::uint64_t length : shape) factors.push_back(random_matrix(length, rank, seed + factors.size()));
  return factors;
}

// Owns the payloads of one chunk.
struct EncodedChunk {
  std::uint64_t number = 0;
  std::uint64_t nnz = 0;
  std::vector<std::byte> index;
  std::vector<std::byte> key;
  std::vector<std::byte> value;
  std::vector<std::uint64_t> lower;
  std::vector<std::uint64_t> upper;
  int value_exponent = 0;
  int sorted_by = -1;

  ChunkView view() const { return {number, nnz, {index, key, value}, lower, upper, value_exponent, sorted_by}; }
};

// Entries [first, first + count) of a tensor as one chunk; in the order of a mode if `layout` is not the natural one.
inline EncodedChunk encode_chunk(const CooTensor& tensor, std::size_t first, std::size_t count, std::uint64_t number,
                                 const TensorLayout& layout, int sorted_by = -1) {
  EncodedChunk chunk;
  chunk.sorted_by = sorted_by;
  chunk.number = number;
  chunk.nnz = count;
  std::vector<std::uint64_t> lows;
  std::vector<std::uint64_t> keys;
  for (std::size_t i = first; i < first + count; ++i) {
    const auto coordinates = std::span(tensor.coordinates).subspan(i * tensor.order(), tensor.order());
    const LineIndex line = layout.linearize(coordinates);
    lows.push_back(line.low);
    keys.push_back(line.key);
    if (i == first) {
      chunk.lower.assign(coordinates.begin(), coordinates.end());
      chunk.upper = chunk.lower;
    }
    for (std::size_t m = 0; m < tensor.order(); ++m) {
      chunk.lower[m] = std::min(chunk.lower[m], coordinates[m]);
      chunk.upper[m] = std::max(chunk.upper[m], coordinates[m]);
    }
  }
  chunk.index = encode_line_column(lows);
  if (layout.has_high_word()) chunk.key = encode_line_column(keys);
  chunk.value = encode_values(std::span(tensor.values).subspan(first, count));
  return chunk;
}

inline EncodedChunk encode_chunk(const CooTensor& tensor, std::size_t first, std::size_t count, std::uint64_t number) {
  return encode_chunk(tensor, first, count, number, TensorLayout(tensor.shape));
}

// In the order given, which is that of `layout`.
inline std::vector<EncodedChunk> encode(const CooTensor& tensor, std::uint64_t chunk_nnz, const TensorLayout& layout,
                                        int sorted_by = -1) {
  std::vector<EncodedChunk> chunks;
  for (std::size_t first = 0; first < tensor.nnz(); first += chunk_nnz) {
    const std::size_t count = std::min<std::size_t>(chunk_nnz, tensor.nnz() - first);
    chunks.push_back(encode_chunk(tensor, first, count, chunks.size(), layout, sorted_by));
  }
  return chunks;
}
inline std::vector<EncodedChunk> encode(const CooTensor& tensor, std::uint64_t chunk_nnz) {
  return encode(tensor, chunk_nnz, TensorLayout(tensor.shape));
}

// MTTKRP from its definition over coordinates, in extended precision; `sizes` holds per entry the sum of the absolute
// products, by which rounding errors are judged.
struct ExpectedRows {
  std::vector<double> rows;
  std::vector<double> sizes;
};

inline ExpectedRows coordinate_mttkrp(const CooTensor& tensor, std::span<const std::vector<double>> factors, int rank,
                                      std::size_t mode) {
  const auto columns = static_cast<std::size_t>(rank);
  const std::size_t count = static_cast<std::size_t>(tensor.shape[mode]) * columns;
  std::vector<long double> sums(count);
  std::vector<long double> sizes(count);
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    for (std::size_t r = 0; r < columns; ++r) {
      long double product = tensor.values[i];
      for (std::size_t m = 0; m < tensor.order(); ++m) {
        if (m != mode) product *= factors[m][static_cast<std::size_t>(tensor.coordinate(i, m)) * columns + r];
      }
      const std::size_t at = static_cast<std::size_t>(tensor.coordinate(i, mode)) * columns + r;
      sums[at] += product;
      sizes[at] += product < 0 ? -product : product;
    }
  }
  ExpectedRows expected;
  expected.rows.assign(sums.begin(), sums.end());
  expected.sizes.assign(sizes.begin(), sizes.end());
  return expected;
}

}  // namespace blco::testing
