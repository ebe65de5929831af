// The MTTKRP of one decoded frame: out[i_n] += value * prod_{m != n} A_m[i_m], vectorised along the rank.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "blco/layout.hpp"

namespace blco {

// Spin locks over stripes of output rows, for outputs that several threads add to. Held for one row's addition.
class RowLocks {
 public:
  RowLocks() : locks_(stripes) {}

  void lock(std::uint64_t row) {
    std::atomic<std::uint32_t>& flag = locks_[row % stripes];
    while (flag.exchange(1, std::memory_order_acquire) != 0) {
      // The holder may have lost its processor.
      for (int spin = 0; flag.load(std::memory_order_relaxed) != 0; ++spin) {
        if (spin >= patience) std::this_thread::yield();
      }
    }
  }
  void unlock(std::uint64_t row) { locks_[row % stripes].store(0, std::memory_order_release); }

  static constexpr std::uint64_t stripes = 8192;

 private:
  static constexpr int patience = 100;

  std::vector<std::atomic<std::uint32_t>> locks_;
};

// A matrix of padded rows, and where the ring of decoded frames holds the row of each nonzero.
template <class T>
struct IndexedRows {
  T* matrix = nullptr;
  const std::uint32_t* rows = nullptr;
  std::uint64_t first_row = 0;  // of `matrix`; not 0 for a block of the output only
  bool prefetch = false;        // it does not stay in the cache by itself
};

template <class T>
struct RowsTask {
  IndexedRows<T> output;
  std::array<IndexedRows<const T>, max_order> factors{};
  int factor_count = 0;
  const double* values = nullptr;  // in the ring, like the rows
  std::uint64_t stride = 0;        // padded rank, of all matrices
  RowLocks* locks = nullptr;       // nullptr: nobody else adds to the output
};

// Some nonzeros of the ring; they do not wrap around its end.
struct RingRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// Adds the nonzeros of `range` to the output. The numbers depend on the rows and values of `range` alone, in an order
// that is fixed for a given CPU, except that with locks others may add in between.
void mttkrp_rows(const RowsTask<double>& task, RingRange range);
void mttkrp_rows(const RowsTask<float>& task, RingRange range);

}  // namespace blco
