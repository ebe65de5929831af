// Nonzeros per slice: counters of a part of the coordinates, and the distribution of the counts.
#pragma once

#include <blco/statistics.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "blco/layout.hpp"
#include "engine/inspect/frame_reader.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// Coordinates [first, first + length) of one mode.
struct SliceWindow {
  std::size_t mode = 0;
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

// All coordinates of all modes, as windows of at most `counters` coordinates for each traversal of the chunks; of a
// mode no traversal has two.
std::vector<std::vector<SliceWindow>> plan_windows(std::span<const std::uint64_t> shape, std::uint64_t counters);

// The counters of one traversal, shared by the workers. Those of a short window, on which all would meet, are kept by
// every worker for itself.
class SliceCounters {
 public:
  static constexpr std::uint64_t short_window = 4096;
  static std::uint64_t worker_bytes(std::size_t order) { return order * short_window * sizeof(std::uint64_t); }

  SliceCounters(std::span<const SliceWindow> windows, int workers);

  // The frame whose lines `frames` has read. Workers may call it at the same time.
  void add(std::size_t worker, const FrameReader& frames, const LayoutView& layout, std::size_t entries);

  // Of window w, once all have been added.
  std::span<const std::uint64_t> finish(std::size_t w);

 private:
  std::vector<SliceWindow> windows_;
  std::vector<AlignedBuffer<std::uint64_t>> counts_;            // per window
  std::vector<std::vector<AlignedBuffer<std::uint64_t>>> own_;  // per worker and window, empty for long ones
};

// How often each count occurs, exactly, without keeping them all: nnz nonzeros leave few slices with many of them.
class CountDistribution {
 public:
  void add(std::span<const std::uint64_t> counts);
  SliceStatistics result() const;
  std::uint64_t nonzeros() const { return nonzeros_; }

 private:
  static constexpr std::uint64_t dense = 1 << 16;

  std::uint64_t at(std::uint64_t rank) const;  // the count of the slice of this rank, from 0, by rising count

  std::vector<std::uint64_t> slices_ = std::vector<std::uint64_t>(dense);  // by count
  std::map<std::uint64_t, std::uint64_t> larger_;
  std::uint64_t total_ = 0;
  std::uint64_t nonzeros_ = 0;
};

}  // namespace blco
