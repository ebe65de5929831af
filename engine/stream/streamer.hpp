// Streams every chunk through a device, reading ahead those not in memory.
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

#include "blco/trace.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/stream/packed_memory.hpp"
#include "engine/stream/read_ahead.hpp"
#include "engine/stream/stream_plan.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/passes.hpp"

namespace blco {

enum class Direction { forward, backward };

// Which way a job's passes go; `number` counts passes that are no MTTKRPs. Those of a mode go one way, since the order
// of a row's nonzeros decides how its sum is rounded, and an arranged copy has one order. Others go back and forth:
// what a pass read last is the likeliest to be in a cache still.
inline Direction direction_of(const PassRequest& request, std::uint64_t number) {
  const bool forward = request.is_mttkrp() ? request.only_mode() % 2 == 0 : number % 2 == 0;
  return forward ? Direction::forward : Direction::backward;
}

// Of a worker that shares chunks with others of its process: `first` is the first of its own.
struct QueueShare {
  ChunkQueue* queue = nullptr;  // none: all chunks are its own
  std::size_t worker = 0;
  std::uint64_t first = 0;
  std::optional<int> gpu = {};  // of another worker, which copies from this one's packed chunks
};

class Streamer {
 public:
  // Allocates the slots and the room for packed chunks; plan() says which of these have to be streamed because the
  // backend gives no more memory. Arguments but the plan must outlive the streamer. With `jobs`, the executor of a
  // backend that computes on the host, chunks are read between its tasks; without, by reader threads. With a queue,
  // `tensor` is all of it; of the plan's chunks, those that are streamed or packed go to the queue.
  Streamer(const ChunkSource& tensor, const StreamPlan& plan, Passes& passes, SideJobs* jobs = nullptr,
           TraceSink* trace = nullptr, ProgressMeter* meter = nullptr, const QueueShare& share = {});
  // Waits for copies from the slots. No other worker may be in a pass.
  ~Streamer();
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;

  // Runs one pass; on return the outputs that `request` names are complete. Chunks are submitted in the order of
  // `direction`, whatever their tier. If a stage fails, its error is thrown after reads and copies in flight have
  // ended. The meter counts every chunk, and ends the pass by throwing.
  void pass(const PassRequest& request, Direction direction);
  // Same, with some chunks only, each once, in the order given. With a queue, a worker takes from that what it can
  // beside those that stay with it, and these are spread over the pass.
  void pass(const PassRequest& request, std::span<const std::uint64_t> chunks);

  // The given plan, and what became of it.
  const StreamPlan& plan() const { return plan_; }
  // Read from the container since construction.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  using TraceTime = std::chrono::steady_clock::time_point;

  void allocate_packed();
  // The first slab of a pass takes `drawn` from the queue.
  void run_pass(const PassRequest& request, std::span<const std::uint64_t> own, std::vector<std::uint64_t>& drawn);
  void drain() noexcept;
  std::optional<ResidentId> resident(std::uint64_t chunk) const {
    return is_own(chunk) ? residents_[chunk - share_.first] : std::nullopt;
  }
  bool is_own(std::uint64_t chunk) const { return chunk >= share_.first && chunk - share_.first < residents_.size(); }
  Tier tier(std::uint64_t chunk) const { return is_own(chunk) ? plan_.tiers[chunk - share_.first] : Tier::streamed; }
  std::unique_ptr<ReadAhead> read(ReadOrder order);
  void submit_read(const ReadChunk& read);
  void trace(const std::string& track, std::string_view name, TraceTime begin, std::uint64_t chunk,
             std::uint64_t bytes) const;

  const ChunkSource* tensor_;
  StreamPlan plan_;
  Passes* passes_;
  SideJobs* jobs_;
  TraceSink* trace_;
  ProgressMeter* meter_;
  QueueShare share_;
  std::size_t expected_ = 0;  // chunks taken from the queue in the last pass
  std::vector<std::unique_ptr<HostBuffer>> slots_;
  std::optional<PackedMemory> packed_;
  std::vector<std::vector<std::byte>> scratch_;       // per reader
  std::vector<std::optional<ResidentId>> residents_;  // per chunk of the plan; set once it has been read, if it stays
  std::uint64_t bytes_read_ = 0;
};

}  // namespace blco
