// Callbacks that a caller must give: an empty one would throw what is no Error, and late.
#pragma once

#include <string>

#include "blco/refuse.hpp"

namespace blco {

// Throws Error{invalid_argument} for an empty std::function; `what` names it, such as "sink".
template <class Function>
void check_callable(const Function& function, const char* what) {
  if (!function) refuse(std::string("the ") + what + " is empty; give a function that takes what comes");
}

}  // namespace blco
