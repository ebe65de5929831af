// Which devices a build has machine code for, so that the driver need not compile anything.
#pragma once

#include <span>
#include <string_view>

namespace blco::cuda {

// Whether a compute capability, written as 100 for the major number and 10 for the minor, has machine code in this
// build: that of an equal major number, and of no higher a minor one. Else the driver compiles the newest PTX, and
// keeps what it makes for later starts.
bool has_machine_code(int capability);
// The same of a build by CMAKE_CUDA_ARCHITECTURES, with commas: "80,90-virtual" has machine code for 8.0, and for 9.0
// PTX alone. nvcc's own list does not tell the two apart; all of it counts where CMake gives no numbers ("native",
// "all").
bool has_machine_code(int capability, std::string_view of_cmake, std::span<const int> of_nvcc);

}  // namespace blco::cuda
