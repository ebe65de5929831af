#include "kernels/cuda/machine_code.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "kernels/cuda/device_code.hpp"

// Compiled by itself, as a check, the file has no list of CMake's.
#ifndef BLCO_CUDA_ARCHITECTURES
#define BLCO_CUDA_ARCHITECTURES ""
#endif

namespace blco::cuda {
namespace {

bool runs_on(int capability, int built) { return built / 100 == capability / 100 && built <= capability; }

}  // namespace

bool has_machine_code(int capability) { return has_machine_code(capability, BLCO_CUDA_ARCHITECTURES, architectures()); }

bool has_machine_code(int capability, std::string_view of_cmake, std::span<const int> of_nvcc) {
  while (true) {
    const std::string_view name = of_cmake.substr(0, of_cmake.find(','));
    int number = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{})
      return std::ranges::any_of(of_nvcc, [=](int built) { return runs_on(capability, built); });
    if (!name.ends_with("-virtual") && runs_on(capability, 10 * number)) return true;
    if (name.size() == of_cmake.size()) return false;
    of_cmake.remove_prefix(name.size() + 1);
  }
}

}  // namespace blco::cuda
