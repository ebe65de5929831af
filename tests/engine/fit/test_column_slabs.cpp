// Unfoldings made of a tensor and one column of each mode's matrix but one's.
#include <gtest/gtest.h>

#include <atomic>
#include <blco/memory_tensor.hpp>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "blco/error.hpp"
#include "engine/fit/column_slabs.hpp"

namespace blco {
namespace {

constexpr std::size_t slab_order = 11;
constexpr std::size_t slab_length = 4;
constexpr std::uint64_t slab_choices = std::uint64_t{1} << 20;  // 4^10
constexpr std::uint64_t slab_nnz = 600;

using Cells = std::map<std::vector<std::uint64_t>, double>;

Cells random_cells() {
  std::mt19937_64 random(5);
  Cells cells;
  while (cells.size() < slab_nnz) {
    std::vector<std::uint64_t> cell(slab_order);
    for (std::uint64_t& index : cell) index = random() % slab_length;
    cells[cell] = 1 + static_cast<double>(random() % 9);
  }
  return cells;
}

MemoryTensor tensor_of(const Cells& cells) {
  std::vector<std::vector<std::uint32_t>> modes(slab_order);
  std::vector<double> values;
  for (const auto& [cell, value] : cells) {
    for (std::size_t n = 0; n < slab_order; ++n) modes[n].push_back(static_cast<std::uint32_t>(cell[n]));
    values.push_back(value);
  }
  CoordinateArrays arrays{.values = values};
  for (const std::vector<std::uint32_t>& mode : modes) arrays.coordinates.emplace_back(mode);
  return MemoryTensor(arrays, {.shape = std::vector<std::uint64_t>(slab_order, slab_length)});
}

SlabMemory memory_of_slab(std::uint64_t) {
  SlabMemory memory;
  memory.matrices.columns.assign(slab_order, slab_length);
  memory.matrices.unfolding.assign(slab_order, slab_choices);
  return memory;
}

// What unfold() of mode 0 takes with unit matrices.
struct UnfoldedSlabs {
  UnfoldedSlabs(const Tensor& tensor, const StopPoll& stop, const ProgressCallback& progress)
      : meter(progress, 0, std::chrono::milliseconds(0)),
        job(tensor, {.devices = {"cpu"}, .threads = 1}, slab_choices, 1, memory_of_slab, stop, false,
            std::vector<int>(slab_order, slab_length)),
        slabs(tensor, *job.job, meter) {
    std::vector<double> unit(slab_length * slab_length);
    for (std::size_t i = 0; i < slab_length; ++i) unit[i * slab_length + i] = 1;
    for (std::size_t n = 0; n < slab_order; ++n) slabs.matrices().load(n, 0, unit);
    meter.begin({.name = "unfolding", .nonzeros = tensor.nnz()});
  }

  ProgressMeter meter;
  SlabJob job;
  ColumnSlabs slabs;
};

// With unit matrices a choice of columns is one of indices.
TEST(ColumnSlabs, HaveTheCellsOfTheirChoices) {
  const Cells cells = random_cells();
  const ProgressCallback none;
  const MemoryTensor tensor = tensor_of(cells);
  UnfoldedSlabs of(tensor, {}, none);

  of.slabs.unfold(0);
  const std::vector<double> unfolding = of.slabs.matrices().unfolding(0);

  ASSERT_EQ(of.job.slab, 0U);
  Cells found;
  for (std::size_t at = 0; at < unfolding.size(); ++at) {
    if (unfolding[at] == 0) continue;
    std::vector<std::uint64_t> cell{at / slab_choices};
    for (std::size_t n = 1; n < slab_order; ++n) cell.push_back(of.slabs.choices().column(0, at % slab_choices, n));
    found[cell] = unfolding[at];
  }
  EXPECT_EQ(found, cells);
}

// A stop need not wait for a chunk whose rows are long, nor for an unfolding that is put in order.
TEST(ColumnSlabs, PollWithinAChunkAndForEachBlock) {
  const MemoryTensor tensor = tensor_of(random_cells());
  std::atomic<std::uint64_t> polls = 0;
  const ProgressCallback none;
  UnfoldedSlabs of(
      tensor, [&] { return ++polls == 0; }, none);

  of.slabs.unfold(0);

  // Within one chunk, and rows that are a block each.
  EXPECT_GE(polls, (slab_nnz * slab_choices >> 28) + slab_length);
}

TEST(ColumnSlabs, EndAtAStopWithinAChunk) {
  const MemoryTensor tensor = tensor_of(random_cells());
  const ProgressCallback none;
  UnfoldedSlabs of(
      tensor, [] { return true; }, none);

  try {
    of.slabs.unfold(0);
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
}

}  // namespace
}  // namespace blco
