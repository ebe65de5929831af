// Cuts matrices into slices, runs each slice's tiles on one thread, and adds the slices' sums in order.
#include "kernels/host/host_dense.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <type_traits>
#include <utility>

#include "kernels/host/dense_tiles.hpp"
#include "kernels/host/row_tiles.hpp"

namespace blco {
namespace {

constexpr std::uint64_t max_slices = 256;
constexpr std::uint64_t min_slice_rows = 256;
constexpr std::uint64_t max_slice_bytes = std::uint64_t{32} << 20;

// Words of rows in a Gram tile, which must stay in the L1 cache while its blocks traverse it.
std::uint64_t gram_tile_words(int rank) {
  constexpr std::uint64_t cache_bytes = std::uint64_t{16} << 10;
  constexpr std::uint64_t max_slabs = 8;
  return std::clamp<std::uint64_t>(cache_bytes / (8 * word_rows * gram_tile_columns(rank)), 1, max_slabs);
}

std::uint64_t gram_tile_elements(int rank) { return gram_tile_words(rank) * word_rows * gram_tile_columns(rank); }

std::uint64_t gram_elements(int rank) { return gram_tile_columns(rank) * gram_tile_columns(rank); }

std::uint64_t slice_elements(int rank) { return std::max(gram_elements(rank), solve_sums(rank)); }

std::uint64_t slice_count(int rank, std::uint64_t rows) {
  const std::uint64_t fitting = std::max<std::uint64_t>(max_slice_bytes / (8 * slice_elements(rank)), 1);
  const std::uint64_t wanted = (rows + min_slice_rows - 1) / min_slice_rows;
  return std::clamp<std::uint64_t>(wanted, 1, std::min(max_slices, fitting));
}

std::uint64_t solve_tile_elements(int rank) { return solve_tile_columns(rank) * solve_tile_rows; }

// Given and solution; for ADMM also a dual, and the least squares of its steps.
std::uint64_t scratch_elements(int rank, bool duals) {
  return std::max((duals ? 4 : 2) * solve_tile_elements(rank), gram_tile_elements(rank));
}

// Zeroes those of `rows` that become zero, and marks the others as live; both one bit per row from `first_row` on.
template <class T>
void set_live(FactorView<T> factor, std::uint64_t first_row, std::uint64_t rows, std::uint64_t mask) {
  std::uint64_t& live = factor.live[first_row / word_rows];
  for (std::uint64_t gone = live & rows & ~mask; gone != 0; gone &= gone - 1) {
    T* row = factor.rows.row(first_row + static_cast<std::uint64_t>(std::countr_zero(gone)));
    std::fill_n(row, factor.rows.stride, T{0});
  }
  live = mask;
}

// A store that misses the cache delays the next ones; a prefetch in time brings its line.
template <class T>
void prefetch_to_write(const T* row, std::uint64_t stride) {
  constexpr std::uint64_t line = cache_line_bytes / sizeof(T);
  for (std::uint64_t j = 0; j < stride; j += line) __builtin_prefetch(row + j, 1);
}

// One bit for each of `count` rows, 1 to 64.
std::uint64_t all_rows(std::uint64_t count) { return ~std::uint64_t{0} >> (word_rows - count); }

// Updates rows, a tile at a time: the nonzero ones, or for ADMM all of them.
template <class Sum, class Factor>
class SliceSolve {
 public:
  SliceSolve(const RowProblem& problem, RowsView<Sum> given, const OldRows<Factor>& old, FactorView<Factor> factor,
             RowsView<Sum> solution, double* sums, double* scratch, const StopPoll& stop)
      : problem_(problem),
        constraint_(problem.constraint),
        stop_(stop),
        given_(given),
        old_(old),
        factor_(factor),
        solution_(solution),
        sums_(sums),
        scratch_(scratch),
        tile_elements_(solve_tile_elements(problem.solver->rank())) {
    // Zeroes the padding of the solution.
    std::fill_n(tile(1), tile_elements_, 0.0);
  }

  void run(std::uint64_t first, std::uint64_t end) {
    for (; first < end; first += word_rows) {
      const std::uint64_t count = std::min(word_rows, end - first);
      ahead_.look_at(given_.row(std::min(end, first + word_rows)), given_.row(std::min(end, first + 2 * word_rows)));
      const std::uint64_t rows = all_rows(count);
      std::uint64_t mask = rows;
      if (!constraint_.needs_dual()) mask = nonzero_rows(given_.row(first), count, given_.stride * sizeof(Sum));
      set_live(factor_, first, rows, mask);
      for (; mask != 0; mask &= mask - 1) {
        numbers_[count_++] = first + static_cast<std::uint64_t>(std::countr_zero(mask));
        prefetch_to_write(solution_.row(numbers_[count_ - 1]), solution_.stride);
        if (count_ == solve_tile_rows) solve();
      }
    }
    if (count_ > 0) solve();
  }

 private:
  double* tile(std::uint64_t i) const { return scratch_ + i * tile_elements_; }

  void solve() {
    give_up_if(stop_);
    const std::span<const std::uint64_t> numbers(numbers_.data(), count_);
    take_rows(given_, numbers, tile(0));
    if (constraint_.is_least_squares()) {
      solve_tile(*problem_.solver, tile(0), tile(1), sums_, ahead_);
    } else {
      copy_rows(old_.factor, numbers, tile(1));
      if (constraint_.needs_dual()) {
        copy_rows(old_.dual, numbers, tile(2));
        admm_tile(problem_, tile(0), tile(1), tile(2), tile(3), sums_, ahead_);
        put_rows(tile(2), numbers, old_.new_dual);
      } else {
        hals_tile(problem_, tile(0), tile(1), sums_, ahead_);
      }
    }
    put_rows(tile(1), numbers, solution_);
    count_ = 0;
  }

  const RowProblem& problem_;
  const RowConstraint& constraint_;
  const StopPoll& stop_;
  RowsView<Sum> given_;
  OldRows<Factor> old_;
  FactorView<Factor> factor_;
  RowsView<Sum> solution_;
  double* sums_;
  double* scratch_;
  std::uint64_t tile_elements_;
  std::array<std::uint64_t, solve_tile_rows> numbers_{};
  std::size_t count_ = 0;
  Ahead ahead_;
};

// Per column, below which an entry of B may be stuck at zero.
std::vector<double> least_entries(const AprStep& step) {
  std::vector<double> least;
  for (const double weight : step.weights) least.push_back(step.kappa_tolerance * apr_scale(weight));
  return least;
}

}  // namespace

template <class Sum, class Factor>
DenseKernels<Sum, Factor>::DenseKernels(int rank, std::uint64_t max_rows, bool duals, Executor& executor, StopPoll stop,
                                        const MemorySource& memory)
    : rank_(rank),
      executor_(executor),
      stop_(std::move(stop)),
      slice_sums_(slice_count(rank, max_rows) * slice_elements(rank), memory) {
  for (int thread = 0; thread < executor.width(); ++thread) {
    scratch_.emplace_back(scratch_elements(rank, duals), memory);
  }
}

// Calls task(first row, end row, `sum_count` zeroed sums of the slice, scratch of the thread) for every slice, the last
// ones first if `backward`. Slices begin at whole words of rows.
template <class Sum, class Factor>
template <class Task>
void DenseKernels<Sum, Factor>::for_each_slice(std::uint64_t rows, std::uint64_t sum_count, bool backward,
                                               const Task& task) {
  const std::uint64_t slices = slice_count(rank_, rows);
  const std::uint64_t words = words_of(rows);
  std::atomic<std::uint64_t> next{0};
  executor_.run(std::min<std::size_t>(scratch_.size(), slices), [&](std::size_t part) {
    for (std::uint64_t step = next++; step < slices; step = next++) {
      const std::uint64_t slice = backward ? slices - 1 - step : step;
      double* sums = slice_sums_.data() + slice * slice_elements(rank_);
      std::fill_n(sums, sum_count, 0.0);
      task(words * slice / slices * word_rows, std::min(rows, words * (slice + 1) / slices * word_rows), sums,
           scratch_[part].data());
    }
  });
}

template <class Sum, class Factor>
const double* DenseKernels<Sum, Factor>::sums_of_slice(std::uint64_t slice) const {
  return slice_sums_.data() + slice * slice_elements(rank_);
}

template <class Sum, class Factor>
SolvedRows DenseKernels<Sum, Factor>::solve_rows(const RowProblem& problem, RowsView<Sum> given,
                                                 const OldRows<Factor>& old, FactorView<Factor> factor,
                                                 RowsView<Sum> solution) {
  const std::uint64_t rank = columns();
  for_each_slice(given.rows, solve_sums(rank_), false,
                 [&](std::uint64_t first, std::uint64_t end, double* sums, double* scratch) {
                   SliceSolve<Sum, Factor>(problem, given, old, factor, solution, sums, scratch, stop_).run(first, end);
                 });
  SolvedRows total{std::vector<double>(rank), 0.0};
  for (std::uint64_t slice = 0; slice < slice_count(rank_, given.rows); ++slice) {
    const double* squares = sums_of_slice(slice);
    const double* products = squares + rank * partial_sums;
    for (std::size_t r = 0; r < rank; ++r) {
      total.squares[r] += std::accumulate(squares + r * partial_sums, squares + (r + 1) * partial_sums, 0.0);
    }
    total.inner += std::accumulate(products, products + rank * partial_sums, 0.0);
  }
  return total;
}

// Sets columns of the solution to a number. All rows become live.
template <class Sum, class Factor>
void DenseKernels<Sum, Factor>::fill_columns(std::span<const std::uint64_t> columns, double number,
                                             FactorView<Factor> factor, RowsView<Sum> solution) {
  for_each_slice(solution.rows, 0, false, [&](std::uint64_t first, std::uint64_t end, double*, double*) {
    for (std::uint64_t row = first; row < end; ++row) {
      for (const std::uint64_t column : columns) solution.row(row)[column] = static_cast<Sum>(number);
    }
    for (; first < end; first += word_rows) factor.live[first / word_rows] = all_rows(std::min(word_rows, end - first));
  });
}

template <class Sum, class Factor>
void DenseKernels<Sum, Factor>::divide_columns(std::span<const double> divisors, double filling,
                                               FactorView<Factor> factor, RowsView<Sum> solution,
                                               std::span<double> gram) {
  std::vector<double> scale;
  std::vector<std::uint64_t> zero_columns;
  for (std::size_t r = 0; r < divisors.size(); ++r) {
    if (divisors[r] == 0) zero_columns.push_back(r);
    scale.push_back(divisors[r] == 0 ? 1.0 : 1.0 / divisors[r]);
  }
  if (!zero_columns.empty()) fill_columns(zero_columns, filling, factor, solution);
  scale_and_gram(solution, factor, scale, gram);
}

// Multiplies column r of the solution by scale[r] (empty: by 1) into the factor, and writes the factor's Gram matrix.
// Zeroes the solution unless it lies in the factor.
template <class Sum, class Factor>
template <class Solution>
void DenseKernels<Sum, Factor>::scale_and_gram(RowsView<Solution> solution, FactorView<Factor> factor,
                                               std::span<const double> scale, std::span<double> gram) {
  const auto rank = static_cast<std::uint64_t>(rank_);
  const std::uint64_t columns = gram_tile_columns(rank_);
  // Padded, because it is loaded by whole vectors.
  AlignedBuffer<double> padded(scale.empty() ? 0 : columns);
  std::ranges::copy(scale, padded.data());
  const double* factors = scale.empty() ? nullptr : padded.data();
  const RowsView<Factor> rows = factor.rows;
  // Backward, because the rows solved last are still in the cache.
  for_each_slice(
      rows.rows, gram_elements(rank_), true,
      [&](std::uint64_t first, std::uint64_t end, double* sums, double* scratch) {
        std::fill_n(scratch, gram_tile_elements(rank_), 0.0);
        const std::uint64_t tile_rows = gram_tile_words(rank_) * word_rows;
        for (; first < end; first += tile_rows) {
          give_up_if(stop_);
          std::uint64_t count = 0;
          for (std::uint64_t row = first; row < std::min(end, first + tile_rows); row += word_rows) {
            const std::uint64_t live = factor.live[row / word_rows] & all_rows(std::min(word_rows, end - row));
            double* tile = scratch + count * columns;
            if constexpr (std::is_same_v<Solution, Factor>) {
              count += scale_rows(rows.row(row), rows.stride, live, factors, columns, tile);
            } else {
              count += scale_rows(solution.row(row), rows.row(row), rows.stride, live, factors, columns, tile);
            }
          }
          if (count > 0) add_gram_tile(scratch, count, columns, sums);
        }
      });
  std::ranges::fill(gram, 0.0);
  for (std::uint64_t slice = 0; slice < slice_count(rank_, rows.rows); ++slice) {
    const double* sums = sums_of_slice(slice);
    for (std::uint64_t j = 0; j < rank; ++j) {
      for (std::uint64_t k = 0; k <= j; ++k) gram[j * rank + k] += sums[j * columns + k];
    }
  }
  for (std::uint64_t j = 0; j < rank; ++j) {
    for (std::uint64_t k = 0; k < j; ++k) gram[k * rank + j] = gram[j * rank + k];
  }
}

template <class Sum, class Factor>
void DenseKernels<Sum, Factor>::make_gram(FactorView<Factor> factor, std::span<double> gram) {
  scale_and_gram(factor.rows, factor, {}, gram);
}

template <class Sum, class Factor>
std::vector<double> DenseKernels<Sum, Factor>::column_sums(RowsView<const Factor> factor, bool squared) {
  for_each_slice(factor.rows, columns(), false, [&](std::uint64_t first, std::uint64_t end, double* sums, double*) {
    for (; first < end; ++first) {
      const Factor* row = factor.row(first);
      for (std::uint64_t r = 0; r < columns(); ++r) {
        const auto number = static_cast<double>(row[r]);
        sums[r] += squared ? number * number : number;
      }
    }
  });
  std::vector<double> total(columns());
  for (std::uint64_t slice = 0; slice < slice_count(rank_, factor.rows); ++slice) {
    for (std::uint64_t r = 0; r < columns(); ++r) total[r] += sums_of_slice(slice)[r];
  }
  return total;
}

// Phi of a row: the output itself where that says it, else `made`.
template <class Sum, class Factor>
const double* DenseKernels<Sum, Factor>::phi_of_row(const Sum* output, const AprStep& step, double* made) const {
  if constexpr (std::is_same_v<Sum, double>) {
    if (step.held_sums.empty()) return output;
  }
  std::copy_n(output, columns(), made);
  for (std::size_t r = 0; r < step.held_sums.size(); ++r) {
    made[r] = step.held_sums[r] > 0 ? made[r] / step.held_sums[r] : 0;
  }
  return made;
}

template <class Sum, class Factor>
AprViolation DenseKernels<Sum, Factor>::apr_measure(RowsView<const Sum> output, RowsView<const Factor> factor,
                                                    const AprStep& step, bool until_any) {
  const std::vector<double> least = least_entries(step);
  const bool looks_for_stuck = step.kappa > 0 && !until_any;
  std::atomic<bool> is_done{false};
  std::atomic<bool> has_stuck{false};
  const auto measure_row = [&](std::uint64_t row, double* largest, double* made) {
    const Factor* b = factor.row(row);
    const double* phi = phi_of_row(output.row(row), step, made);
    for (std::uint64_t r = 0; r < columns(); ++r) {
      const double size = static_cast<double>(b[r]) * (step.held_sums.empty() ? 1 : step.held_sums[r]);
      largest[r] = std::max(largest[r], std::abs(std::min(size, 1 - phi[r])));
    }
    bool is_any_stuck = false;
    for (std::uint64_t r = 0; r < columns() && looks_for_stuck; ++r) {
      is_any_stuck |= is_stuck(static_cast<double>(b[r]), phi[r], least[r], step.tolerance);
    }
    if (is_any_stuck) has_stuck = true;
  };
  for_each_slice(factor.rows, columns(), false,
                 [&](std::uint64_t first, std::uint64_t end, double* most, double* made) {
                   for (; first < end && !is_done; first += word_rows) {
                     for (std::uint64_t row = first; row < std::min(end, first + word_rows); ++row) {
                       measure_row(row, most, made);
                     }
                     if (until_any && *std::max_element(most, most + columns()) >= step.tolerance) is_done = true;
                   }
                 });
  AprViolation violation{.has_stuck_zeros = has_stuck};
  for (std::uint64_t slice = 0; slice < slice_count(rank_, factor.rows); ++slice) {
    const double* most = sums_of_slice(slice);
    violation.largest = std::max(violation.largest, *std::max_element(most, most + columns()));
  }
  return violation;
}

template <class Sum, class Factor>
void DenseKernels<Sum, Factor>::apr_free_zeros(RowsView<const Sum> output, RowsView<Factor> factor,
                                               const AprStep& step) {
  const std::vector<double> least = least_entries(step);
  for_each_slice(factor.rows, 0, false, [&](std::uint64_t first, std::uint64_t end, double*, double* made) {
    for (; first < end; ++first) {
      Factor* b = factor.row(first);
      const double* phi = phi_of_row(output.row(first), step, made);
      for (std::uint64_t r = 0; r < columns(); ++r) {
        const auto entry = static_cast<double>(b[r]);
        if (!is_stuck(entry, phi[r], least[r], step.tolerance)) continue;
        b[r] = static_cast<Factor>(entry + step.kappa * apr_scale(step.weights[r]));
      }
    }
  });
}

template <class Sum, class Factor>
void DenseKernels<Sum, Factor>::apr_multiply(RowsView<const Sum> output, RowsView<Factor> factor, const AprStep& step) {
  for_each_slice(factor.rows, 0, false, [&](std::uint64_t first, std::uint64_t end, double*, double* made) {
    for (; first < end; ++first) {
      Factor* b = factor.row(first);
      const double* phi = phi_of_row(output.row(first), step, made);
      for (std::uint64_t r = 0; r < columns(); ++r) b[r] = static_cast<Factor>(static_cast<double>(b[r]) * phi[r]);
    }
  });
}

template <class Sum, class Factor>
double DenseKernels<Sum, Factor>::cg_end(RowsView<Factor> factor, const double* solution) {
  for_each_slice(factor.rows, 1, false, [&](std::uint64_t first, std::uint64_t end, double* sum, double*) {
    for (; first < end; ++first) {
      const double* a = solution + first * columns();
      std::transform(a, a + columns(), factor.row(first), [](double number) { return static_cast<Factor>(number); });
      *sum = std::inner_product(a, a + columns(), a, *sum);
    }
  });
  double total = 0;
  for (std::uint64_t slice = 0; slice < slice_count(rank_, factor.rows); ++slice) total += *sums_of_slice(slice);
  return total;
}

template class DenseKernels<double, double>;
template class DenseKernels<float, float>;
template class DenseKernels<double, float>;

}  // namespace blco
