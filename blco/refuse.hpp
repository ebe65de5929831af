// The commonest Error, in one word.
#pragma once

#include <string>

#include "blco/error.hpp"

namespace blco {

// Refuses a request or an input: throws Error{invalid_argument}.
[[noreturn]] inline void refuse(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

}  // namespace blco
