// Times of repeated work.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace blco {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return seconds_since(begin);
}

// The upper one of two in the middle. Requires at least one number.
inline double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

}  // namespace blco
