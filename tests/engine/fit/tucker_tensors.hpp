// A small tensor, and options, for the tests of Tucker models.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/tucker.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"

namespace blco {

inline constexpr std::uint64_t tucker_length = 6;

inline double cell_of_rank_one(std::uint64_t i, std::uint64_t j, std::uint64_t k) {
  return std::sin(1.0 + static_cast<double>(i)) * (2.0 + static_cast<double>(j)) / (1.0 + static_cast<double>(k));
}

// Cells i + 10 j + 100 k, plus a product: multilinear ranks of 3 each at most.
inline double cell_value(std::uint64_t i, std::uint64_t j, std::uint64_t k) {
  return static_cast<double>(i + 10 * j + 100 * k) + cell_of_rank_one(i, j, k);
}

// `length`: of the first mode.
inline MemoryTensor dense_tensor(std::uint32_t length = tucker_length) {
  std::vector<std::vector<std::uint32_t>> coordinates(3);
  std::vector<double> values;
  for (std::uint32_t i = 0; i < length; ++i) {
    for (std::uint32_t j = 0; j < tucker_length; ++j) {
      for (std::uint32_t k = 0; k < tucker_length; ++k) {
        coordinates[0].push_back(i);
        coordinates[1].push_back(j);
        coordinates[2].push_back(k);
        values.push_back(cell_value(i, j, k));
      }
    }
  }
  CoordinateArrays arrays{.values = values};
  for (const std::vector<std::uint32_t>& mode : coordinates) arrays.coordinates.emplace_back(mode);
  return MemoryTensor(arrays, {.shape = {length, tucker_length, tucker_length}});
}

inline TuckerOptions of_ranks(std::vector<int> ranks, TuckerMethod method = TuckerMethod::hooi) {
  return {.method = method, .ranks = std::move(ranks), .compute = {.devices = {"cpu"}, .threads = 1}};
}

inline void expect_refused(const MemoryTensor& tensor, const TuckerOptions& options, const std::string& words) {
  try {
    fit_tucker(tensor, options);
    FAIL() << "not refused: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
  }
}

}  // namespace blco
