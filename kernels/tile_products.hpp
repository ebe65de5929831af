// Products with many columns at once, on tiles of numbers that stay in the cache.
#pragma once

#include <cstddef>

namespace blco {

inline constexpr std::size_t product_tile = 256;  // numbers of a column
inline constexpr std::size_t product_vectors = 3;

// Adds the products of each column with each of three vectors, which lie one after the other as columns do, to `sums`:
// three per column. Requires: an even count, and both aligned to cache lines.
void add_products(const double* columns, std::size_t count, const double* vectors, double* sums);

// Adds each column times its factor to `sum`, which is aligned to cache lines too.
void add_columns(const double* columns, std::size_t count, const double* factors, double* sum);

// Of any two vectors of so many numbers.
double inner_product(const double* a, const double* b, std::size_t size);

}  // namespace blco
