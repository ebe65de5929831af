// What a model says of a single entry: its value, and how much worse it is there than one that fits the entry alone.
#pragma once

#include <blco/model.hpp>
#include <blco/tucker_model.hpp>
#include <cstdint>
#include <span>

#include "blco/loss.hpp"

namespace blco {

class ModelValues {
 public:
  // `model` must outlive this. Throws Error{invalid_argument} if its sizes disagree.
  explicit ModelValues(const CpdModel& model);
  explicit ModelValues(const TuckerModel& model);

  // sum_r w_r prod_n A_n[point[n], r], or of a Tucker model the core times the point's rows, always added in the same
  // order. Requires: the point lies in the shape.
  // Thread-safe.
  double at(std::span<const std::uint64_t> point) const;

 private:
  const CpdModel* model_ = nullptr;  // null: a Tucker model
  const TuckerModel* tucker_ = nullptr;
};

// As <blco/predict.hpp> says; at least 0, and infinite where the loss takes no such m, or m is not finite. NaN for a
// zero that the loss does not take. 2^value_exponent is the unit, exponent_of_unit() of the loss. Requires:
// takes_entry(loss, x).
double deviance(const Loss& loss, double x, double m, int value_exponent = 0);

}  // namespace blco
