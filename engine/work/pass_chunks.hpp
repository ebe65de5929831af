// The chunks of a job whose passes read the orders of their modes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/stream/stream_plan.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/backend.hpp"

namespace blco {

// Those of each mode's copy, one copy after the other, numbered throughout; before them those of the natural order, if
// some mode has no copy; so there are more than info() says. All else is the tensor's, but it tells no labels.
class PassChunks final : public ChunkSource {
 public:
  // `tensor` must outlive this.
  explicit PassChunks(const ChunkSource& tensor);

  bool has_natural() const { return sources_.front().mode < 0; }
  // None of the tensor's modes has a copy.
  bool is_natural() const { return has_natural() && sources_.size() == 1; }
  // Per mode, the chunks that a pass of it reads.
  std::vector<ChunkRange> of_modes() const;
  // As BackendConfig::orders.
  std::vector<BitModes> orders() const;

  const ContainerInfo& info() const override { return tensor_->info(); }
  std::string name() const override { return tensor_->name(); }
  std::uint64_t chunk_count() const override { return sources_.back().range.end; }
  std::uint64_t nnz_of_chunk(std::uint64_t chunk) const override;
  int sorted_by(std::uint64_t chunk) const override { return source_of(chunk).mode; }
  const StoredExtents& extents(std::uint64_t chunk) const override;
  std::span<const std::uint64_t> lower(std::uint64_t chunk) const override;
  std::span<const std::uint64_t> upper(std::uint64_t chunk) const override;
  std::vector<std::uint32_t> reordering(std::uint64_t mode) const override { return tensor_->reordering(mode); }
  std::uint64_t file_bytes() const override { return tensor_->file_bytes(); }
  std::uint64_t held_bytes() const override { return tensor_->held_bytes(); }
  std::uint64_t buffer_bytes(std::uint64_t chunk) const override;
  std::uint64_t scratch_bytes(std::uint64_t chunk) const override;
  ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const override;
  std::unique_ptr<ChunkRead> begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                        std::span<std::byte> scratch) const override;
  void announce_read(std::uint64_t chunk) const override;

 private:
  struct Source {
    const ChunkSource* chunks = nullptr;
    int mode = -1;  // of its order; -1: the natural one
    ChunkRange range;
  };

  void add(const ChunkSource& chunks, int mode);
  const Source& source_of(std::uint64_t chunk) const;

  const ChunkSource* tensor_;
  std::vector<Source> sources_;
};

}  // namespace blco
