// The devices that Compute::devices names.
#pragma once

#include <blco/compute.hpp>
#include <optional>
#include <string>
#include <vector>

namespace blco {

struct NamedDevice {
  static constexpr int current = -1;

  std::string name;        // cpu, cuda, or cuda:0
  std::optional<int> gpu;  // its number, or `current`, that of the thread; none: the CPU
  double share = 1;        // of the chunks, beside the others'
};

// What lists and messages call the GPU of a number.
std::string gpu_name(int number);

// Each of them once; none: a GPU if there is one. Of "all", GPUs that cannot serve are left out; `left_out` says why.
// Throws Error: invalid_argument; cuda and not_built (a GPU that is not there).
std::vector<NamedDevice> devices_of(const Compute& compute, std::string* left_out = nullptr);

// Compute for each of them: it alone, and its part of the threads. A GPU's threads read its chunks, which takes few.
std::vector<Compute> parts_of(const Compute& compute, const std::vector<NamedDevice>& devices);

// Whether one device of this process makes all of a job's passes.
bool has_one_device(const Compute& compute);

}  // namespace blco
