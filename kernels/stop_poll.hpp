// How a long computation learns that its result is no longer wanted.
#pragma once

#include <functional>

#include "blco/error.hpp"

namespace blco {

// Returns true once the computation is to give up; empty: never. Called on any thread, many times a second.
using StopPoll = std::function<bool()>;

// Throws Error{cancelled}.
inline void give_up_if(const StopPoll& stop) {
  if (stop && stop()) throw Error(ErrorKind::cancelled, "the computation was stopped");
}

}  // namespace blco
