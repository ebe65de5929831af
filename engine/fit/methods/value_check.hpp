// Refuses a tensor whose values do not suit a method, and a model to start from whose signs do not.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/methods/fit_method.hpp"

namespace blco {

// Whether a value that occurs so many times in a row suits.
using ValueCheck = std::function<bool(double value, std::uint64_t times)>;

// Reads all chunks once, unless every value is 1, in the memory of one chunk. Counts the nonzeros in a stage of `meter`
// of its own, which may end it. Calls `is_allowed` with all values, in the order of the container. Throws Error:
// invalid_argument for the first value that it rejects, naming its coordinates and then `demand`, such as "method apr
// takes values of at least 0"; io, corrupt and cancelled.
void check_values(const Tensor& tensor, const ValueCheck& is_allowed, const std::string& demand, ProgressMeter& meter);

// For methods whose factors and weights are at least 0: models of others may have negative entries. `taker` is what
// takes none, such as "loss poisson". Throw Error{invalid_argument} for the first one of options.initial, or of
// options.resume, whose factors the workers hold.
void check_initial_signs(const CpdModel& initial, const std::string& taker);
void check_resumed_signs(const FitContext& context, std::span<const double> weights, const std::string& taker);

}  // namespace blco
