// Tucker models whose ranks follow from an error.
#pragma once

#include <blco/tucker.hpp>

namespace blco {

// fit_tucker with options.max_error > 0.
TuckerModel fit_to_error(const Tensor& tensor, const TuckerOptions& options);

}  // namespace blco
