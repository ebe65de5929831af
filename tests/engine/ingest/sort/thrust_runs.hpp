// The device's code for ingest on Thrust's CPU backend, which takes the place of a GPU in tests.
#pragma once

#include <cstdint>

namespace blco {

struct ThrustRuns {
  std::uint64_t free_bytes = std::uint64_t{1} << 40;  // that the next device has
  std::uint64_t runs = 0;                             // sorted so far
};

ThrustRuns& thrust_runs();

}  // namespace blco
