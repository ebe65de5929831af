// Whether the parts of a model agree, which a caller may have put together by hand.
#pragma once

#include <blco/model.hpp>
#include <string>

namespace blco {

// Throws Error{invalid_argument} that begins with `failure`, such as "cannot export the model", if the numbers of
// weights, factors, names and labels do not suit shape and rank.
void check_sizes(const CpdModel& model, const std::string& failure);

}  // namespace blco
