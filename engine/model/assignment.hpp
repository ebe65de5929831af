// The assignment problem: pairs rows with columns at the largest total score.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace blco {

// `scores` is a row-major matrix with `columns` columns and no more rows than that. Returns the column of each row, all
// different, such that their scores have the largest sum. Takes rows^2 * columns steps (the Hungarian method: Kuhn
// 1955, in the form of shortest augmenting paths: Jonker & Volgenant 1987).
std::vector<std::size_t> assign_columns(std::span<const double> scores, std::size_t columns);

}  // namespace blco
