// Locks for rows of an output that several threads add to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/aligned_buffer.hpp"

namespace blco {

// Rows share a pool of spin locks, each in a cache line of its own. A lock is held for a few additions.
class RowLocks {
 public:
  RowLocks() : locks_(std::make_unique<Lock[]>(count)) {}

  static constexpr std::uint64_t bytes() { return count * sizeof(Lock); }

  void lock(std::uint64_t row) {
    std::atomic_flag& flag = locks_[row % count].flag;
    while (flag.test_and_set(std::memory_order_acquire)) flag.wait(true, std::memory_order_relaxed);
  }
  void unlock(std::uint64_t row) {
    std::atomic_flag& flag = locks_[row % count].flag;
    flag.clear(std::memory_order_release);
    flag.notify_one();
  }

 private:
  static constexpr std::size_t count = 1024;
  struct alignas(cache_line_bytes) Lock {
    std::atomic_flag flag;
  };

  std::unique_ptr<Lock[]> locks_;
};

}  // namespace blco
