// A list of coordinates as the arrays that the library takes.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <vector>

#include "tests/engine/coordinate_tensor.hpp"

namespace blco {

template <class Number = std::uint64_t>
class CoordinateColumns {
 public:
  explicit CoordinateColumns(const CoordinateTensor& tensor) : columns_(tensor.shape.size()), values_(tensor.values) {
    for (const Point& point : tensor.points) {
      for (std::size_t n = 0; n < point.size(); ++n) columns_[n].push_back(static_cast<Number>(point[n]));
    }
  }

  CoordinateArrays arrays() const { return {{columns_.begin(), columns_.end()}, values_}; }

 private:
  std::vector<std::vector<Number>> columns_;
  std::vector<double> values_;
};

}  // namespace blco
