// Where every chunk is kept between passes, and whether the job fits its budgets at all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/common/tensor_sizes.hpp"
#include "kernels/backend.hpp"
#include "kernels/cuda_backend.hpp"

namespace blco {

enum class Tier : std::uint8_t {
  streamed,  // read from the container in every pass
  packed,    // in host memory as on the link
  decoded,   // in host memory ready to use
  device,    // in device memory, packed
};

// A GPU to plan for, whether it is there or not.
struct DeviceRequest {
  DeviceLimits limits;
  std::uint64_t budget_bytes = 0;
  Resolution resolution = Resolution::automatic;
};

struct PlanRequest {
  BackendConfig backend;  // private_bytes is decided here
  std::uint64_t budget_bytes = 0;
  std::uint64_t caller_bytes = 0;  // of what the caller gave, and of what it gets beyond what is freed by then
  int threads = 1;
  bool want_previous = false;                // the factors before each update, where there is room
  bool deterministic = false;                // no private outputs: their sums depend on the number of threads
  bool keep_chunks = true;                   // false: a single pass, nothing is worth keeping
  std::optional<DeviceRequest> device = {};  // none: the CPU computes
};

struct Plan {
  std::vector<Tier> tiers;          // per chunk
  int lanes = 0;                    // staging buffers, and as many device buffers
  int readers = 0;                  // threads that fill them for a device; on a host 1, those that compute
  std::uint64_t lane_bytes = 0;     // of each lane
  std::uint64_t scratch_bytes = 0;  // of each reader
  std::uint64_t private_bytes = 0;  // for copies of the output, on the device where there is one
  std::uint64_t sorted_bytes = 0;   // for sorted copies of decoded chunks, on the host
  bool keep_previous = false;       // the backend keeps the factors before each update
  std::uint64_t planned_bytes = 0;  // of host memory, all told
  std::uint64_t minimum_bytes = 0;  // the least budget that would do
  std::uint64_t disk_bytes_per_pass = 0;

  // Zero without a device.
  std::uint64_t resident_bytes = 0;  // of device memory, for chunks that stay there
  std::uint64_t device_planned_bytes = 0;
  std::uint64_t device_minimum_bytes = 0;
  std::uint64_t link_bytes_per_pass = 0;  // of payloads; in every pass but the first, which moves the resident ones too
};

// Throws Error{out_of_memory} naming the minimum if a budget is below it. Memory goes first to what the job cannot do
// without, then to private outputs (at most a quarter of the rest, or all of use where most of the tensor is streamed
// anyway), to previous factors (if they take no more than a quarter of the rest), then to packed chunks, spread evenly
// over the pass so that reading overlaps with computing, then to decoding chunks ahead, and what is left to sorting
// these. With a device its memory takes as many chunks as it holds, spread in the same way, and host memory those that
// are left.
Plan make_plan(const TensorSizes& tensor, const PlanRequest& request);

// What the backend is made with, once the plan stands.
CudaConfig cuda_config(const PlanRequest& request, const Plan& plan);

}  // namespace blco
