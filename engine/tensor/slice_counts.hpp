// Counts nonzeros per slice, for a part of the coordinates at a time, and the distribution of the counts.
#pragma once

#include <blco/statistics.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "blco/layout.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// Coordinates [first, first + length) of one mode.
struct SliceWindow {
  std::size_t mode = 0;
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

// Splits all coordinates of all modes into windows for several traversals of the chunks: each traversal has at most
// `counters` coordinates, and at most one window per mode.
std::vector<std::vector<SliceWindow>> plan_windows(std::span<const std::uint64_t> shape, std::uint64_t counters);

// The counters of one traversal, shared by the workers. Short windows, on which all workers would contend, are counted
// by each worker separately.
class SliceCounters {
 public:
  static constexpr std::uint64_t short_window = 4096;
  static std::uint64_t worker_bytes(std::size_t order) { return order * short_window * sizeof(std::uint64_t); }

  SliceCounters(std::span<const SliceWindow> windows, int workers);

  // Counts the frame whose lines `frames` has read. Workers may call it concurrently.
  void add(std::size_t worker, const FrameReader& frames, const LayoutView& layout, std::size_t entries);

  // The counts of window w. Call after all frames have been added.
  std::span<const std::uint64_t> finish(std::size_t w);

 private:
  std::vector<SliceWindow> windows_;
  std::vector<AlignedBuffer<std::uint64_t>> counts_;            // per window
  std::vector<std::vector<AlignedBuffer<std::uint64_t>>> own_;  // per worker and window, empty for long ones
};

// How often each count occurs, exactly but compactly: with nnz nonzeros, few slices have many.
class CountDistribution {
 public:
  void add(std::span<const std::uint64_t> counts);
  SliceStatistics result() const;
  std::uint64_t nonzeros() const { return nonzeros_; }

 private:
  static constexpr std::uint64_t dense = 1 << 16;

  std::uint64_t at(std::uint64_t rank) const;  // count of the slice with this rank, from 0, by rising count

  std::vector<std::uint64_t> slices_ = std::vector<std::uint64_t>(dense);  // by count
  std::map<std::uint64_t, std::uint64_t> larger_;
  std::uint64_t total_ = 0;
  std::uint64_t nonzeros_ = 0;
};

}  // namespace blco
