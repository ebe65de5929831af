// Refuses a tensor whose values do not suit a method.
#pragma once

#include <blco/tensor.hpp>
#include <functional>
#include <string>

#include "engine/common/progress_meter.hpp"

namespace blco {

// Reads all chunks once, unless every value is 1, in the memory of one chunk. Counts the nonzeros in a stage of `meter`
// of its own, which may end it. Throws Error: invalid_argument for the first value, in the order of the container, that
// `is_allowed` rejects, naming its coordinates and then `demand`, such as "method apr takes values of at least 0"; io,
// corrupt and cancelled.
void check_values(const Tensor& tensor, const std::function<bool(double)>& is_allowed, const std::string& demand,
                  ProgressMeter& meter);

}  // namespace blco
