// Coordinates that are known only at the end of the input: units of time in their order, numbers in bins.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "io/coordinate_reader.hpp"

namespace blco {

class FinalCoordinates {
 public:
  // Per mode the final coordinate of each coordinate that was read, as CoordinateReader::take_final_coordinates() gives
  // them.
  explicit FinalCoordinates(std::vector<std::vector<std::uint32_t>> modes) : modes_(std::move(modes)) {}

  bool is_empty() const;
  // Whether the mode's coordinates change; then the final one of each.
  bool has(std::size_t mode) const { return mode < modes_.size() && !modes_[mode].empty(); }
  const std::vector<std::uint32_t>& of(std::size_t mode) const { return modes_[mode]; }
  std::uint64_t memory_bytes() const;

  // Replaces each coordinate by the final one; `upper` keeps its values. Any thread.
  void apply(CoordinateBatch& batch) const;

 private:
  std::vector<std::vector<std::uint32_t>> modes_;
};

}  // namespace blco
