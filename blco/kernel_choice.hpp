// What a caller asks of kernels: a rank, and a precision of the numbers.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "blco/enum_names.hpp"

namespace blco {

// The largest rank of a model.
inline constexpr int max_rank = 4096;

// Precision of factors and MTTKRP. Gram matrices, the solve and the fit are always f64.
// f64: all numbers. f32: factors, products, sums and output; half the memory. mixed: factors are stored as f32, rounded
// after each update; products, sums and output are f64. So the factors take half the memory and the output as much as
// with f64; the MTTKRP of the rounded factors has the rounding errors of f64. On the CPU a pass takes less time than
// with f64 where factor rows come from memory, and more where they stay in the caches, since every number is converted.
enum class Precision { f64, f32, mixed };

namespace detail {
// By Precision.
inline constexpr std::array<const char*, 3> precision_names = {"f64", "f32", "mixed"};
}  // namespace detail

inline const char* to_string(Precision precision) {
  return detail::precision_names.at(static_cast<std::size_t>(precision));
}

// Nothing for a word that to_string() does not give.
inline std::optional<Precision> parse_precision(std::string_view word) {
  return find_name<Precision>(detail::precision_names, word);
}

}  // namespace blco
