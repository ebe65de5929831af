// Cuts matrices into slices, runs the tiles of each slice on one thread, and adds up what the slices report in their
// order.
#include "kernels/host_dense.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "kernels/dense_tiles.hpp"

namespace blco {
namespace {

constexpr std::uint64_t most_slices = 64;
constexpr std::uint64_t least_slice_rows = 1024;
constexpr std::uint64_t most_slice_bytes = std::uint64_t{32} << 20;
// A Gram tile stays in the L2 cache while its blocks pass over it.
constexpr std::uint64_t gram_tile_bytes = std::uint64_t{128} << 10;
constexpr std::uint64_t most_gram_tile_rows = 256;

std::uint64_t padded_columns(int rank) {
  return (static_cast<std::uint64_t>(rank) + gram_padding - 1) / gram_padding * gram_padding;
}

std::uint64_t gram_tile_rows(int rank) {
  return std::clamp<std::uint64_t>(gram_tile_bytes / (8 * padded_columns(rank)), 1, most_gram_tile_rows);
}

std::uint64_t gram_elements(int rank) { return padded_columns(rank) * padded_columns(rank); }

// Room for R sums and the inner product, and for a Gram matrix.
std::uint64_t slice_elements(int rank) { return std::max(gram_elements(rank), 2 * padded_columns(rank)); }

std::uint64_t slice_count(int rank, std::uint64_t rows) {
  const std::uint64_t fitting = std::max<std::uint64_t>(most_slice_bytes / (8 * slice_elements(rank)), 1);
  const std::uint64_t wanted = (rows + least_slice_rows - 1) / least_slice_rows;
  return std::clamp<std::uint64_t>(wanted, 1, std::min(most_slices, fitting));
}

std::uint64_t scratch_elements(int rank) {
  const std::uint64_t solve = 2 * static_cast<std::uint64_t>(rank) * solve_tile_rows;
  return std::max(solve, gram_tile_rows(rank) * padded_columns(rank));
}

// Transposes rows into a solve tile; rows past the end are zero and add nothing to any sum.
template <class T>
void load_tile(RowsView<const T> from, std::uint64_t first, std::uint64_t count, std::uint64_t rank, double* tile) {
  if (count < solve_tile_rows) std::fill_n(tile, rank * solve_tile_rows, 0.0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const T* row = from.row(first + i);
    for (std::uint64_t j = 0; j < rank; ++j) tile[j * solve_tile_rows + i] = static_cast<double>(row[j]);
  }
}

template <class T>
void store_tile(const double* tile, std::uint64_t first, std::uint64_t count, std::uint64_t rank, RowsView<T> to) {
  for (std::uint64_t i = 0; i < count; ++i) {
    T* row = to.row(first + i);
    for (std::uint64_t j = 0; j < rank; ++j) row[j] = static_cast<T>(tile[j * solve_tile_rows + i]);
  }
}

template <class T>
void scale_row(T* row, std::span<const double> scale) {
  for (std::size_t j = 0; j < scale.size(); ++j) row[j] = static_cast<T>(static_cast<double>(row[j]) * scale[j]);
}

}  // namespace

DenseKernels::DenseKernels(int rank, std::uint64_t most_rows, Executor& executor)
    : rank_(rank), executor_(executor), slice_sums_(slice_count(rank, most_rows) * slice_elements(rank)) {
  for (int thread = 0; thread < executor.width(); ++thread) scratch_.emplace_back(scratch_elements(rank));
}

std::uint64_t DenseKernels::bytes(int rank, std::uint64_t most_rows, int threads) {
  return mapped_bytes(8 * slice_count(rank, most_rows) * slice_elements(rank)) +
         static_cast<std::uint64_t>(threads) * mapped_bytes(8 * scratch_elements(rank));
}

// Calls task(first row, end row, zeroed sums of the slice, scratch of the thread) for every slice.
template <class Task>
void DenseKernels::for_each_slice(std::uint64_t rows, const Task& task) {
  const std::uint64_t slices = slice_count(rank_, rows);
  std::atomic<std::uint64_t> next{0};
  executor_.run(scratch_.size(), [&](std::size_t part) {
    for (std::uint64_t slice = next++; slice < slices; slice = next++) {
      double* sums = slice_sums_.data() + slice * slice_elements(rank_);
      std::fill_n(sums, slice_elements(rank_), 0.0);
      task(rows * slice / slices, rows * (slice + 1) / slices, sums, scratch_[part].data());
    }
  });
}

template <class T>
RowSolveSums DenseKernels::solve_rows(const RowSolver& solver, RowsView<const T> given, RowsView<T> solution) {
  const auto rank = static_cast<std::uint64_t>(rank_);
  for_each_slice(given.rows, [&](std::uint64_t first, std::uint64_t end, double* sums, double* scratch) {
    double* right = scratch;
    double* left = scratch + rank * solve_tile_rows;
    for (; first < end; first += solve_tile_rows) {
      const std::uint64_t count = std::min(solve_tile_rows, end - first);
      load_tile(given, first, count, rank, right);
      solve_tile(solver, right, left, sums);
      store_tile(left, first, count, rank, solution);
    }
  });
  RowSolveSums total{std::vector<double>(rank), 0.0};
  for (std::uint64_t slice = 0; slice < slice_count(rank_, given.rows); ++slice) {
    const double* sums = slice_sums_.data() + slice * slice_elements(rank_);
    for (std::size_t r = 0; r < rank; ++r) total.squares[r] += sums[r];
    total.inner += sums[rank];
  }
  return total;
}

template <class T>
void DenseKernels::scale_and_gram(RowsView<T> matrix, std::span<const double> scale, std::span<double> gram) {
  const auto rank = static_cast<std::uint64_t>(rank_);
  const std::uint64_t columns = padded_columns(rank_);
  for_each_slice(matrix.rows, [&](std::uint64_t first, std::uint64_t end, double* sums, double* scratch) {
    std::fill_n(scratch, gram_tile_rows(rank_) * columns, 0.0);
    for (; first < end; first += gram_tile_rows(rank_)) {
      const std::uint64_t count = std::min(gram_tile_rows(rank_), end - first);
      for (std::uint64_t i = 0; i < count; ++i) {
        T* row = matrix.row(first + i);
        scale_row(row, scale);
        for (std::uint64_t j = 0; j < rank; ++j) scratch[i * columns + j] = static_cast<double>(row[j]);
      }
      add_gram_tile(scratch, count, columns, sums);
    }
  });
  std::ranges::fill(gram, 0.0);
  for (std::uint64_t slice = 0; slice < slice_count(rank_, matrix.rows); ++slice) {
    const double* sums = slice_sums_.data() + slice * slice_elements(rank_);
    for (std::uint64_t j = 0; j < rank; ++j) {
      for (std::uint64_t k = 0; k <= j; ++k) gram[j * rank + k] += sums[j * columns + k];
    }
  }
  for (std::uint64_t j = 0; j < rank; ++j) {
    for (std::uint64_t k = 0; k < j; ++k) gram[k * rank + j] = gram[j * rank + k];
  }
}

template RowSolveSums DenseKernels::solve_rows(const RowSolver&, RowsView<const double>, RowsView<double>);
template RowSolveSums DenseKernels::solve_rows(const RowSolver&, RowsView<const float>, RowsView<float>);
template void DenseKernels::scale_and_gram(RowsView<double>, std::span<const double>, std::span<double>);
template void DenseKernels::scale_and_gram(RowsView<float>, std::span<const double>, std::span<double>);

}  // namespace blco
