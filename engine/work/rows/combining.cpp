#include "engine/work/rows/combining.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "kernels/lbfgs_numbers.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

std::vector<LbfgsBreakpoint> breakpoints_of(std::span<const double> answer) {
  std::vector<LbfgsBreakpoint> points(answer.size() / numbers_of_breakpoint);
  if (!points.empty()) std::memcpy(static_cast<void*>(points.data()), &answer[1], points.size() * sizeof(points[0]));
  return points;
}

bool merge_breakpoints(std::vector<double>& numbers, std::span<const double> theirs) {
  if (theirs.empty() || theirs[0] != numbers[0]) return false;
  const std::vector<LbfgsBreakpoint> first = breakpoints_of(numbers);
  const std::vector<LbfgsBreakpoint> second = breakpoints_of(theirs);
  std::vector<LbfgsBreakpoint> both;
  const auto place = [](const LbfgsBreakpoint& point) { return std::array{point.reach, point.number}; };
  std::ranges::merge(first, second, std::back_inserter(both), {}, place, place);
  both.resize(std::min(both.size(), static_cast<std::size_t>(numbers[0])));
  numbers.resize(1 + both.size() * numbers_of_breakpoint);
  if (!both.empty()) std::memcpy(&numbers[1], both.data(), both.size() * sizeof(both[0]));
  return true;
}

}  // namespace

bool combine(Combining combining, std::vector<double>& numbers, std::span<const double> theirs) {
  if (numbers.empty()) {
    numbers.assign(theirs.begin(), theirs.end());
    return true;
  }
  if (combining == Combining::breakpoints) return merge_breakpoints(numbers, theirs);
  if (combining == Combining::joined) {
    numbers.insert(numbers.end(), theirs.begin(), theirs.end());
    return true;
  }
  if (theirs.size() != numbers.size()) return false;
  if (combining == Combining::triangles) {
    numbers = join_triangles(numbers, theirs);
    return true;
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const bool is_least = combining == Combining::least_and_sums && i < lbfgs_least;
    numbers[i] = combining == Combining::largest ? peak_of(numbers[i], theirs[i])
                 : is_least                      ? std::min(numbers[i], theirs[i])
                                                 : numbers[i] + theirs[i];
  }
  return true;
}

}  // namespace blco
