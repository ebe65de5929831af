// Runs that a device sorts and packs, as ingest sees those of the CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blco/layout.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "io/coordinate_reader.hpp"
#include "kernels/run_device.hpp"

namespace blco {

// The device that sorts runs; null: the CPU does. Calls `on_compile` as tell_of_compiling() does. Throws Error: cuda,
// not_built (`on_gpu` without a GPU).
std::unique_ptr<RunDevice> find_run_device(bool on_gpu, const std::function<void(const std::string&)>& on_compile);

// Makes a run of all entries, in the memory of `device`, which must outlive it. Throws Error: cuda; out_of_memory if
// the device does not hold the run.
std::unique_ptr<MemoryRun> sort_on_device(RunDevice& device, const TensorLayout& layout,
                                          const std::vector<CoordinateBatch>& batches);

}  // namespace blco
