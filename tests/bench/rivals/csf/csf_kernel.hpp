// MTTKRP on a part of a tree, vectorised along the rank.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"

namespace blco {

// Locks for rows of an output that several threads add to. Rows share a pool of spin locks, each in a cache line of its
// own. A lock is held for a few additions.
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

template <class T>
struct CsfLevel {
  const std::uint32_t* index = nullptr;  // of each node
  const std::uint32_t* child = nullptr;  // first child of each node, then the end; nullptr: node i has child i only
  const T* matrix = nullptr;             // what the indices point into: a factor, or on the target level the output
  bool prefetch = false;                 // of its rows
};

// A CsfTree; or a SliceList, of which level 0 has the slices and all other levels the nonzeros.
template <class T>
struct CsfTask {
  std::array<CsfLevel<T>, max_csf_levels> levels;
  std::size_t order = 0;
  std::size_t target = 0;  // level of the output's mode; 0 for a list
  const T* values = nullptr;
  T* output = nullptr;
  std::uint64_t stride = 0;   // elements from one row to the next, in every matrix: padded_rank<T>
  RowLocks* locks = nullptr;  // for rows that other parts may add to; nullptr: none do
};

// out[i] += (product of the rows above) * (sum over the subtree below) at each node i of the target level. If that is
// level 0, the rows of a part other than the first and the last one belong to it alone, and no lock is taken for them.
void mttkrp_csf(const CsfTask<double>& task, const CsfPart& part);
void mttkrp_csf(const CsfTask<float>& task, const CsfPart& part);

}  // namespace blco
