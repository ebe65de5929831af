// What a job says where the driver will compile device code.
#pragma once

#include <functional>
#include <string>

#include "kernels/device_kind.hpp"

namespace blco {

// Before the first kernel on `gpu`. Calls `on_compile` with a sentence that says so, if this build has no machine code
// for it, and if there is somebody to tell.
void tell_of_compiling(const DeviceLimits& gpu, const std::function<void(const std::string&)>& on_compile);

}  // namespace blco
