// The streaming executor: drives every chunk through the backend, reading ahead what is not in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/planner.hpp"
#include "io/container_reader.hpp"
#include "kernels/backend.hpp"

namespace blco {

enum class Direction { forward, backward };

class Streamer {
 public:
  // All three must outlive the streamer. Allocates the lanes and the room for packed chunks.
  Streamer(const ContainerReader& tensor, const Plan& plan, Backend& backend);
  ~Streamer();
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;

  // One pass: the backend's output of `mode` is complete when this returns. Chunks are submitted in the order of
  // `direction` whatever their tier. If a stage fails, reads in flight end first, and then its error is thrown.
  void pass(int mode, Direction direction);

  // From the container, since construction.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  class Readers;

  struct Resident {
    std::unique_ptr<HostBuffer> buffer;  // packed only
    std::optional<ResidentId> id;        // set once the chunk has been read
  };

  bool needs_read(std::uint64_t chunk) const { return !residents_[chunk].id.has_value(); }
  std::span<std::byte> destination(std::uint64_t chunk, int lane);
  void submit_read(std::uint64_t chunk, int lane, const ChunkView& view);

  const ContainerReader* tensor_;
  const Plan* plan_;
  Backend* backend_;
  std::vector<std::unique_ptr<HostBuffer>> lanes_;
  std::vector<std::vector<std::byte>> scratch_;  // per reader
  std::vector<Resident> residents_;              // per chunk
  std::uint64_t bytes_read_ = 0;
};

}  // namespace blco
