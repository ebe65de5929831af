// The unit of the values: a fit sees them divided by a power of 2 near their root mean square, so that no threshold,
// and no range of f32, makes another model of the same values in another unit.
#pragma once

#include <blco/cpd_method.hpp>
#include <blco/tensor.hpp>

#include "engine/fit/methods/constant_model.hpp"

namespace blco {

// That power: the first one that is at least their root mean square. 0 for losses whose model is no size.
int value_exponent_of(const TensorSummary& tensor, const CpdMethod& method);

// The method of a fit that sees values so divided: a loss's threshold is one.
CpdMethod in_unit_of_fit(CpdMethod method, int value_exponent);

// What a fit's objective is in the unit of the values; `constant` is the fit's.
double objective_of_values(double of_fit, const TensorSummary& tensor, const CpdMethod& method, int value_exponent,
                           const ConstantModel& constant);

}  // namespace blco
