// What summaries of factors share: the squares of columns, and which numbers are the largest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace blco {

// Of each column of a row-major factor, the sum of its squares.
inline std::vector<double> column_squares(std::span<const double> factor, std::size_t columns) {
  std::vector<double> squares(columns);
  for (std::size_t first = 0; first < factor.size(); first += columns) {
    for (std::size_t r = 0; r < columns; ++r) squares[r] += factor[first + r] * factor[first + r];
  }
  return squares;
}

// Of the places 0 to count - 1 the `most` first ones by falling key(place), then by rising place.
template <class Key>
std::vector<std::size_t> largest_places(std::size_t count, std::size_t most, const Key& key) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(std::min(most, count));
  std::partial_sort(places.begin(), end, places.end(),
                    [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  places.erase(end, places.end());
  return places;
}

}  // namespace blco
