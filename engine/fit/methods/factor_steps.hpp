// Steps over factors that several methods take on the host.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/work/worker_group.hpp"

namespace blco {

// Row-major R x R: the elementwise product of the Gram matrices of all modes but `left_out` (-1: of all modes).
std::vector<double> product_of_grams(Factors& factors, int order, int rank, int left_out = -1);

// The next two go in blocks of rows: `block` is memory for numbers_of_block(rank) numbers, and `length` the mode's.
// Returns R numbers.
std::vector<double> column_sums(Factors& factors, int mode, std::uint64_t length, int rank, std::span<double> block);
// Replaces each number of a factor by number * scale + shift of its column; no shifts: none.
void scale_columns(Factors& factors, int mode, std::uint64_t length, std::span<const double> scales,
                   std::span<double> block, std::span<const double> shifts = {});

// Makes negative numbers of a factor 0.
void raise_to_zero(Factors& factors, int mode, std::uint64_t length, int rank, std::span<double> block);

// For optimisers that know no modes: all factors in one vector, mode after mode. Its length:
std::uint64_t factor_numbers(const TensorSummary& tensor, int rank);
void load_all_factors(Factors& factors, std::span<const std::uint64_t> shape, std::span<const double> numbers);
void store_all_factors(Factors& factors, std::span<const std::uint64_t> shape, std::span<double> numbers);

}  // namespace blco
