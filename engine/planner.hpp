// Where every chunk is kept between passes, and whether the job fits its budget at all.
#pragma once

#include <cstdint>
#include <vector>

#include "io/container_reader.hpp"
#include "kernels/backend.hpp"

namespace blco {

enum class Tier : std::uint8_t {
  streamed,  // read from the container in every pass
  packed,    // in host memory as on the link
  decoded,   // in host memory ready to use
};

struct PlanRequest {
  BackendConfig backend;  // private_bytes is decided here
  std::uint64_t budget_bytes = 0;
  std::uint64_t caller_bytes = 0;  // of what the caller gave, and of what it gets beyond what is freed by then
  int threads = 1;
  bool keep_chunks = true;  // false: a single pass, nothing is worth keeping
};

struct Plan {
  std::vector<Tier> tiers;          // per chunk
  int lanes = 0;                    // staging buffers
  int readers = 0;                  // threads that fill them
  std::uint64_t lane_bytes = 0;     // of each lane
  std::uint64_t scratch_bytes = 0;  // of each reader
  std::uint64_t private_bytes = 0;  // for the backend's private outputs
  std::uint64_t planned_bytes = 0;  // all told
  std::uint64_t minimum_bytes = 0;  // the least budget that would do
  std::uint64_t disk_bytes_per_pass = 0;
};

// Throws Error{out_of_memory} naming the minimum if the budget is below it. Memory goes first to what the job cannot do
// without, then to private outputs (at most a quarter of the rest), then to packed chunks, spread evenly over the
// pass so that reading overlaps with computing, and what is left to decoding chunks ahead.
Plan make_plan(const ContainerReader& tensor, const PlanRequest& request);

}  // namespace blco
