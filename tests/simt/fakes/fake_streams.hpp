// Streams that run their work late and in any legal order.
//
// Not thread-safe: the caller holds a lock. Work runs on whichever thread triggers it; ThreadSanitizer sees a thread of
// its own per stream, ordered by events and waits alone.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/simt/fiber.hpp"
#include "tests/simt/simt_control.hpp"

namespace simt {

// One cudaEventRecord. Its address identifies it to ThreadSanitizer.
struct Record {
  cudaStream_t stream = nullptr;
  bool reached = false;
  std::chrono::steady_clock::time_point time;
};

struct Operation {
  std::function<void()> run = nullptr;
  std::shared_ptr<Record> waits_for = nullptr;
  std::shared_ptr<Record> reaches = nullptr;
  std::span<const std::byte> pinned = {};  // host memory that it reads or writes
};

}  // namespace simt

struct CUstream_st {
  std::deque<std::unique_ptr<simt::Operation>> queue;
  simt::Operation* running = nullptr;
  std::string failure;  // of the kernel that has just run
  int device = 0;

  // Work runs on its own stack, so that ThreadSanitizer does not take the caller's stack for shared memory.
  simt::Stack stack;
  simt::Fiber fiber;
};

namespace simt {

class FakeStreams {
 public:
  cudaStream_t create();
  void destroy(cudaStream_t stream);  // after its work has run
  bool exists(cudaStream_t stream) const { return stream != nullptr && find(stream) != streams_.end(); }
  std::size_t count() const { return streams_.size(); }
  std::size_t pending() const;

  void set_policy(Policy policy, std::uint64_t seed);
  // `begin` is called before an operation on a device and returns whether to run it; `fail` after a kernel that failed.
  void set_hooks(std::function<bool(int device)> begin, std::function<void(const std::string&)> fail) {
    begin_ = std::move(begin);
    fail_ = std::move(fail);
  }

  void queue(cudaStream_t stream, Operation operation);
  // Run what must run, and by policy more, until all of the stream's work has run, the record is reached, or nothing is
  // left.
  void finish(cudaStream_t stream);
  void finish(const Record& record);
  void finish_all();

  // True if work that has not run yet uses some of these bytes.
  bool uses(std::span<const std::byte> pinned) const;

 private:
  using Owner = std::unique_ptr<CUstream_st>;

  std::vector<Owner>::const_iterator find(cudaStream_t stream) const {
    return std::ranges::find(streams_, stream, &Owner::get);
  }
  static bool can_run(const CUstream_st& stream);
  void run_next(CUstream_st& stream);
  void advance(CUstream_st& stream);
  bool run_any();
  void run_all();

  std::vector<Owner> streams_;  // in the order of their creation, so that a seed
                                // fixes what runs
  std::function<bool(int device)> begin_;
  std::function<void(const std::string&)> fail_;
  Policy policy_ = Policy::eager;
  std::mt19937_64 random_{1};
};

}  // namespace simt
