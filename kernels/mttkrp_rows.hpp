// The MTTKRP of decoded nonzeros: out[i_n] += value * prod_{m != n} A_m[i_m], vectorised along the rank.
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

// Rows are prefetched where output and factors take more than this together. Below, they stay in the caches by
// themselves, since neighbours in line order are near each other in every mode, and prefetches cost more than they
// save.
inline constexpr std::uint64_t prefetched_bytes = std::uint64_t{6} << 20;

// A matrix of padded rows, and how the row of each nonzero is found.
template <class T>
struct IndexedRows {
  T* matrix = nullptr;
  const std::uint32_t* rows = nullptr;  // in the ring of decoded frames
  std::uint64_t mask = 0;               // or of a line index: the row is pext(line, mask)
  std::uint64_t first_row = 0;          // of `matrix`; not 0 for a block of the output only
};

template <class T>
struct RowsTask {
  IndexedRows<T> output;
  std::array<IndexedRows<const T>, max_order> factors{};
  int factor_count = 0;
  const std::uint64_t* lines = nullptr;  // line indices of the nonzeros; nullptr: rows are in the ring
  bool sorted = false;                   // bit 63 of a line says that its target row is not the one before's
  const double* values = nullptr;        // as long as the lines, or in the ring; nullptr, with lines only: all are 1
  std::uint64_t stride = 0;              // padded rank, of all matrices
  bool prefetch = false;                 // rows, ahead of their use
  RowLocks* locks = nullptr;             // nullptr: nobody else adds to the output
};

// Some nonzeros of the ring, without wrapping around its end; or of the line indices.
struct NonzeroRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// Adds the nonzeros of `range` to the output, each to what is there when its turn comes: the numbers are the same
// however the nonzeros are cut into calls, and whether they come as rows, as lines or sorted by row. With locks, which
// rows in the ring alone can have, others may add in between, and equal rows that follow each other are added up first.
void mttkrp_rows(const RowsTask<double>& task, NonzeroRange range);
void mttkrp_rows(const RowsTask<float>& task, NonzeroRange range);

}  // namespace blco
