// What blco-cpd and blco-info say about components that cancel each other.
#pragma once

#include <blco/model_summary.hpp>
#include <optional>
#include <string>

#include "tools/programs/reporter.hpp"

namespace blco::cli {

// One sentence with what to do about it.
std::string describe_cancellation(const Cancellation& found);

// Null if there is none.
Json cancellation_json(const std::optional<Cancellation>& found);

}  // namespace blco::cli
