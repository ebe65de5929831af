// Coordinates drawn from a whole tensor, for passes.
#pragma once

#include <cstdint>
#include <vector>

#include "blco/layout.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/fit/methods/packed_cells.hpp"
#include "engine/work/worker_group.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// How many of a tensor's nonzeros have each index of each mode, summed up to that index.
using IndexCounts = std::vector<std::vector<double>>;

// Each coordinate is drawn for itself: half of them uniformly, the others as often as nonzeros have them, because there
// a model expects most, so that most of its error lies there. A cell's value is what its probability under uniform
// draws is to that under these: times cells / count it is what the sample stands for. At most 2^N.
class SampledZeros {
 public:
  // Room for `count` draws. No chunk is larger than those of `tensor`. Arguments must outlive this.
  SampledZeros(const ChunkSource& tensor, WorkerGroup& workers, std::uint64_t count);

  // Draws anew, with replacement: sequence and counts alone fix the coordinates. No pass may be in progress.
  void draw(const RandomStream& random, const IndexCounts& counts);
  // Takes each cell once, for what it is; `count` is the number of cells.
  void take_all();
  // From now on those that the tensor lists count for nothing, so that the others stand for its absent cells. Reads the
  // tensor once, in the memory of a chunk.
  void leave_out_listed(const ChunkSource& tensor);
  // A pass that adds their losses, times `scale`, to the last one's terms and outputs.
  void add_to_pass(const Loss& loss, double scale, ModeSet outputs);
  // How many there are.
  std::uint64_t count() const { return count_; }

 private:
  TensorLayout layout_;
  WorkerGroup* workers_;
  PackedCells packed_;
  std::uint64_t count_;
  std::vector<PackedCell> samples_;
};

}  // namespace blco
