// The values of a CP model at single entries.
#pragma once

#include <blco/model.hpp>
#include <cstdint>
#include <span>

namespace blco {

class ModelValues {
 public:
  // `model` must outlive this. Throws Error{invalid_argument} if its sizes disagree.
  explicit ModelValues(const CpdModel& model);

  // sum_r w_r prod_n A_n[point[n], r], always added in the same order. Requires: the point lies in the shape.
  // Thread-safe.
  double at(std::span<const std::uint64_t> point) const;

 private:
  const CpdModel* model_;
};

}  // namespace blco
