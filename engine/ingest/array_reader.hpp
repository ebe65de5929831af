// Coordinate arrays in memory as a reader of coordinates, so that they take the way of any other input.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

class ArrayReader final : public CoordinateReader {
 public:
  // The arrays must outlive the reader. `shape`: of the tensor, or empty. Throws Error{invalid_argument} for arrays
  // that are empty, differ in length, or are not as many as the shape has modes.
  ArrayReader(const CoordinateArrays& arrays, const std::vector<std::uint64_t>& shape, Executor& executor);

  // Throws Error{invalid_argument} naming the first entry whose coordinates lie outside the shape or whose value is not
  // finite.
  bool next(CoordinateBatch& batch) override;
  std::string name() const override { return "the coordinate arrays"; }
  std::uint64_t bytes_read() const override { return 0; }
  // Per mode, the largest coordinate plus one: one pass over the arrays. Empty where one is beyond any mode's length,
  // which next() will refuse.
  std::vector<std::uint64_t> find_extents() const;

  InputSize size() const override { return {.entries = count_}; }

 private:
  struct Slice;

  void copy(CoordinateBatch& batch, std::size_t first, std::size_t count, Slice& slice) const;
  bool is_acceptable(std::uint64_t entry) const;
  std::uint64_t coordinate(std::uint64_t entry, std::size_t mode) const;
  [[noreturn]] void refuse_entry(std::uint64_t entry) const;

  const CoordinateArrays* arrays_;
  Executor* executor_;
  std::vector<std::uint64_t> limits_;  // per mode, the least coordinate that is too large
  std::uint64_t count_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace blco
