// Entries that a fit holds back from itself, to see how far a ridge suits cells that it does not know.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <vector>

#include "engine/fit/methods/packed_cells.hpp"
#include "engine/work/worker_group.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// A hash of the tensor's own coordinates chooses them: one of twenty, of few entries one of five, of many fewer. They
// stay in the tensor, and so in each pass over it; a second pass takes them out of its sums.
class HeldBack {
 public:
  // Fewer entries of a tensor leave too few to hold back.
  static constexpr std::uint64_t least_entries = 100;

  // Reads the tensor once. Arguments must outlive this. Values count divided by 2 to the power of `value_exponent`.
  HeldBack(const ChunkSource& tensor, WorkerGroup& workers, int value_exponent);

  // Memory beside a chunk.
  static std::uint64_t bytes(const TensorSummary& tensor);

  // Right after a loss pass over the tensor by `function` that filled `outputs`: what it left becomes that of a pass
  // without these entries.
  void leave_out(EntryFunction function, ModeSet outputs);
  // The root mean square over these entries of what the model lacks.
  double error();
  bool is_empty() const { return count_ == 0; }

 private:
  static double share(std::uint64_t nnz);
  static std::uint64_t most(std::uint64_t nnz);
  static std::vector<PackedCell> choose(const ChunkSource& tensor, Executor& executor);

  HeldBack(const ChunkSource& tensor, WorkerGroup& workers, int value_exponent, std::vector<PackedCell> cells);

  WorkerGroup* workers_;
  std::uint64_t count_;
  PackedCells packed_;
};

}  // namespace blco
