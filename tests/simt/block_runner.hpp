// Runs a CUDA kernel block by block on one processor: every thread is a fiber, and fibers meet at collectives.
//
// Between collectives the threads run one after another in an order that tests choose, which reveals missing
// synchronisation in a kernel. Compiled without ThreadSanitizer's instrumentation, but tells it what each collective
// orders, so that it sees races between the fibers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>

#include "tests/simt/simt_control.hpp"

namespace simt {

inline constexpr unsigned warp_lanes = 32;

using Site = std::source_location;

struct Index {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

struct GridShape {
  unsigned blocks = 1;
  unsigned threads = 1;  // of a block
  std::size_t shared_bytes = 0;
};

// A fault that a device would not forgive.
class KernelFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `thread` once per thread of each block; one grid at a time. Throws KernelFailure; unfinished threads are then
// abandoned.
void run_grid(const GridShape& shape, Order order, std::uint64_t seed, const std::function<void()>& thread);

// The rest is for kernels: queries of the running thread to its block.

Index thread_index();
Index block_index();
Index block_size();
Index grid_size();
std::byte* dynamic_shared();
unsigned lane_index();

// Meets all threads of the block, and returns how many of them came with `predicate`.
unsigned meet_block(bool predicate, const Site& site);

// Meets the lanes of `mask`. Their contributions can be read until the thread's next collective.
void exchange(unsigned mask, std::uint64_t value, const Site& site);
std::uint64_t received(unsigned lane);  // undefined, as in CUDA, for a lane that
                                        // was not in the mask
unsigned lanes_that_gave(std::uint64_t value);

// Orders what the thread did before against what it does after, for all threads of the device.
void fence();

}  // namespace simt
