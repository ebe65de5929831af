// Steps over factors that several methods take on the host.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/rows.hpp"
#include "kernels/steps.hpp"

namespace blco {

// Row-major R x R: the elementwise product of the Gram matrices of all modes but `left_out` (-1: of all modes).
std::vector<double> product_of_grams(Steps& steps, int order, int rank, int left_out = -1);

// One vector of a backend's that has all modes.
VectorShape vector_of_all_modes(const TensorSummary& tensor, std::string_view name);
void copy_all_to_vector(Rows& factors, int order, int vector);
void copy_all_from_vector(Rows& factors, int order, int vector);

// For optimisers that know no modes: all factors in one vector, mode after mode. Its length:
std::uint64_t factor_numbers(const TensorSummary& tensor, int rank);
void load_all_factors(Rows& factors, std::span<const std::uint64_t> shape, std::span<const double> numbers);
void store_all_factors(Rows& factors, std::span<const std::uint64_t> shape, std::span<double> numbers);

}  // namespace blco
