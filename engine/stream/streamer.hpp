// Streams every chunk through the backend, reading ahead those not in memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/stream/packed_memory.hpp"
#include "engine/stream/read_ahead.hpp"
#include "engine/stream/stream_plan.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/backend.hpp"

namespace blco {

enum class Direction { forward, backward };

// Which way a job's passes go; `number` counts passes that are no MTTKRPs. Those of a mode go one way, since the order
// of a row's nonzeros decides how its sum is rounded, and an arranged copy has one order. Others go back and forth:
// what a pass read last is the likeliest to be in a cache still.
inline Direction direction_of(const PassRequest& request, std::uint64_t number) {
  const bool forward = request.is_mttkrp() ? request.only_mode() % 2 == 0 : number % 2 == 0;
  return forward ? Direction::forward : Direction::backward;
}

class Streamer {
 public:
  // Allocates the slots and the room for packed chunks; plan() says which of these have to be streamed because the
  // backend gives no more memory. Arguments but the plan must outlive the streamer. With `jobs`, the executor of a
  // backend that computes on the host, chunks are read between its tasks; without, by reader threads.
  Streamer(const ChunkSource& tensor, const StreamPlan& plan, Backend& backend, SideJobs* jobs = nullptr,
           TraceSink* trace = nullptr, ProgressMeter* meter = nullptr);
  // Waits for copies from the slots.
  ~Streamer();
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;

  // Runs one pass; on return the outputs that `request` names are complete. Chunks are submitted in the order of
  // `direction`, whatever their tier. If a stage fails, its error is thrown after reads and copies in flight have
  // ended. The meter counts every chunk, and ends the pass by throwing.
  void pass(const PassRequest& request, Direction direction);
  // Same, with some chunks only, each once, in the order given.
  void pass(const PassRequest& request, std::span<const std::uint64_t> chunks);

  // The given plan, and what became of it.
  const StreamPlan& plan() const { return plan_; }
  // Read from the container since construction.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  using TraceTime = std::chrono::steady_clock::time_point;

  void allocate_packed();
  void run_pass(const PassRequest& request, std::span<const std::uint64_t> chunks);
  void drain() noexcept;
  bool needs_read(std::uint64_t chunk) const { return !residents_[chunk].has_value(); }
  std::unique_ptr<ReadAhead> read(std::vector<std::uint64_t> chunks);
  void submit_read(std::uint64_t chunk, std::size_t slot, const ChunkView& view);
  void trace(const std::string& track, std::string_view name, TraceTime begin, std::uint64_t chunk,
             std::uint64_t bytes) const;

  const ChunkSource* tensor_;
  StreamPlan plan_;
  Backend* backend_;
  SideJobs* jobs_;
  TraceSink* trace_;
  ProgressMeter* meter_;
  std::vector<std::unique_ptr<HostBuffer>> slots_;
  std::optional<PackedMemory> packed_;
  std::vector<std::vector<std::byte>> scratch_;       // per reader
  std::vector<std::optional<ResidentId>> residents_;  // per chunk; set once it has been read, if it stays
  std::uint64_t bytes_read_ = 0;
};

}  // namespace blco
