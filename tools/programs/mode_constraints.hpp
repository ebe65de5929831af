// Constraints of the modes that a list names.
#pragma once

#include <blco/row_constraint.hpp>
#include <blco/tensor.hpp>
#include <string>
#include <vector>

namespace blco::cli {

// Gives `wanted` to the modes of a list by name or number from 0, such as "user,2"; of an empty list to all that are
// not held. `constraints` then has one for each mode. Throws for a mode that does not exist, or has another constraint.
void constrain(const std::string& option, const std::string& list, const TensorSummary& tensor,
               const RowConstraint& wanted, std::vector<RowConstraint>& constraints);

}  // namespace blco::cli
