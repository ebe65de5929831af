// Coordinates drawn uniformly from a whole tensor, packed as chunks that a backend takes like any other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "engine/common/counter_random.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/backend.hpp"

namespace blco {

class SampledZeros {
 public:
  // Room for `count` draws. No chunk is larger than those of `tensor`. Arguments must outlive this.
  SampledZeros(const ChunkSource& tensor, Backend& backend, std::uint64_t count);

  // At most, whatever the tensor's chunks.
  static std::uint64_t bytes(const TensorLayout& layout, std::uint64_t count);

  // Draws anew, with replacement: the sequence alone fixes the coordinates. No pass may be in progress.
  void draw(const RandomStream& random);
  // Submits all of them to the pass in progress.
  void submit();
  // How many there are.
  std::uint64_t count() const { return count_; }

 private:
  void pack();
  std::span<const std::byte> store(std::span<const std::byte> payload);

  TensorLayout layout_;
  Backend* backend_;
  std::uint64_t count_;
  std::uint64_t piece_nnz_;
  std::unique_ptr<HostBuffer> buffer_;
  std::uint64_t used_ = 0;  // of the buffer
  std::vector<ChunkView> pieces_;
  std::vector<LineIndex> lines_;
  std::vector<std::uint64_t> column_;
  std::vector<std::byte> payload_;
};

}  // namespace blco
