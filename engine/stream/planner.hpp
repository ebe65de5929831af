// Plans where every chunk is kept between passes, and checks that the job fits its budgets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor/tensor_sizes.hpp"
#include "kernels/backend.hpp"
#include "kernels/device_kind.hpp"

namespace blco {

enum class Tier : std::uint8_t {
  streamed,  // read from the container in every pass
  packed,    // in host memory, as on the link
  decoded,   // in host memory, ready to use
  device,    // in device memory, packed
};

// With a GPU: most of the chunks' bytes that stay on it, and of the others' that stay in host memory, for
// measurements; from 0 to 1.
struct TierShares {
  double device = 1;
  double host = 1;
};

struct PlanRequest {
  BackendConfig backend;  // the plan sets the sizes of its memory
  const DeviceKind* kind = &host_kind();
  std::uint64_t budget_bytes = 0;         // of host memory
  std::uint64_t device_budget_bytes = 0;  // of a GPU's memory
  std::uint64_t caller_bytes = 0;  // caller's inputs, and the part of its results that exceeds what is freed before
  std::uint64_t slot_bytes = 0;    // least size of a slot on a device, for chunks of another tensor
  int threads = 1;
  int slots = 0;               // as in CpdOptions
  bool want_previous = false;  // keep the factors before each update, if there is room
  bool deterministic = false;  // no private outputs, whose sums depend on the number of threads
  // No chunk stays nearer to the kernels than this. streamed: as for a single pass, where keeping chunks does not pay.
  Tier best_tier = Tier::device;
  TierShares shares = {};
};

struct Plan {
  std::vector<Tier> tiers;       // per chunk
  int slots = 0;                 // staging buffers; also the number of device buffers
  int readers = 0;               // threads that fill the slots for a device; on the CPU 1: the computing threads read
  std::uint64_t slot_bytes = 0;  // of each slot
  std::uint64_t scratch_bytes = 0;  // of each reader
  std::uint64_t direct_bytes = 0;   // of each reader beside: to read past the system's cache; 0: read through it
  std::uint64_t private_bytes = 0;  // for copies of the output, on the device if there is one
  std::uint64_t sorted_bytes = 0;   // host: for sorted copies and trees of decoded chunks
  bool keep_previous = false;       // keep the factors before each update
  std::uint64_t planned_bytes = 0;  // all host memory of the job
  std::uint64_t minimum_bytes = 0;  // the smallest budget that suffices
  std::uint64_t disk_bytes_per_pass = 0;

  // Set by the streamer: packed chunks that became streamed ones, and why; the other figures are adjusted.
  std::uint64_t demoted_chunks = 0;
  std::string shortage = {};

  // Zero without a device.
  std::uint64_t resident_bytes = 0;  // device memory of the chunks that stay there
  std::uint64_t device_planned_bytes = 0;
  std::uint64_t device_minimum_bytes = 0;
  std::uint64_t link_bytes_per_pass = 0;  // payloads per pass; the first pass also moves the resident ones
};

// Throws Error{out_of_memory} naming the minimum if a budget is below it. Memory goes, in order, to: what the job
// cannot do without; private outputs (at most a quarter of the rest; as much as is useful if most of the tensor is
// streamed anyway); previous factors (if they need at most a quarter of the rest); packed chunks, spread evenly over
// the pass so that reading overlaps with computing; decoding chunks ahead; sorted copies or trees of these. With a
// device, device memory takes as many chunks as it holds, spread in the same way, and host memory the remaining ones.
Plan make_plan(const TensorSizes& tensor, const PlanRequest& request);

// The configuration of the backend under this plan.
BackendConfig backend_config(const PlanRequest& request, const Plan& plan);

}  // namespace blco
