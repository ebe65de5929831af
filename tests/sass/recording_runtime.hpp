// A CUDA runtime without a device: memory is the host's, copies are made at once, and a launch is only reported. What
// the CUDA backend would run on a device can so be written to a file, down to the bytes of the kernel's arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace blco::testing {

struct RecordedLaunch {
  std::string kernel;  // mangled
  unsigned blocks = 0;
  unsigned threads = 0;  // of a block
  std::size_t shared_bytes = 0;
  void** arguments = nullptr;  // one pointer per parameter
};

// Limits how many blocks a multiprocessor holds, beside the registers of the kernels.
void set_shared_bytes_of_multiprocessor(std::size_t bytes);

// `report` is called at every launch; what it points to lives until it returns.
void on_launch(std::function<void(const RecordedLaunch&)> report);

// What was allocated and not freed, by rising address. Between two of them there is room that belongs to neither.
std::vector<std::span<const std::byte>> device_ranges();

}  // namespace blco::testing
