// How the answers of workers become one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace blco {

enum class Combining : std::uint8_t {
  sums,
  largest,         // of largest magnitude: of two, the first worker's
  least_and_sums,  // the first ones are the least of all (lbfgs_least)
  breakpoints,     // LbfgsBreakpoint: the first of all
  triangles,       // of matrices whose rows are those of all (join_triangles)
  joined,          // one after the other
};

// Makes numbers of one worker, or nothing, those of two. False if they answer different orders.
bool combine(Combining combining, std::vector<double>& numbers, std::span<const double> theirs);

}  // namespace blco
