// Cells packed as chunks in memory, for passes beside those over a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "engine/work/worker_group.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

struct PackedCell {
  LineIndex line;
  double value;
};

class PackedCells {
 public:
  // Room for `count` of them. No chunk is larger than those of `tensor`. `workers` must outlive this.
  PackedCells(const ChunkSource& tensor, WorkerGroup& workers, std::uint64_t count);

  // What the buffer of a slot needs, whatever the tensor's chunks; and the memory of an object and its cells, at most.
  static std::uint64_t least_slot_bytes(const TensorLayout& layout);
  static std::uint64_t bytes(const TensorLayout& layout, std::uint64_t count);

  // Takes these, at most `count`, in place of those before, and leaves them in the order of lines. Their values count
  // divided by 2 to the power of `value_exponent`. No pass may be in progress.
  void pack(std::vector<PackedCell>& cells, int value_exponent = 0);
  // A loss pass over them; the second adds to the terms and outputs of the last one.
  void pass(const EntryFunction& function);
  void continue_pass(const EntryFunction& function, ModeSet outputs);

 private:
  std::span<const std::byte> store(std::span<const std::byte> payload);

  TensorLayout layout_;
  WorkerGroup* workers_;
  std::uint64_t piece_nnz_;
  std::unique_ptr<HostBuffer> buffer_;
  std::uint64_t used_ = 0;  // of the buffer
  std::vector<ChunkView> pieces_;
  std::vector<std::uint64_t> column_;
  std::vector<double> values_;
  std::vector<std::byte> payload_;
};

}  // namespace blco
