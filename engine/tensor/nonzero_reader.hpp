// Walks over the nonzeros of a tensor, on disk or in memory, within a memory budget: chunk by chunk in any order, or in
// their stored order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// The program's own memory beside that of a walk.
inline constexpr std::uint64_t scan_overhead_bytes = std::uint64_t{8} << 20;

// The memory of a walk, in bytes.
struct ScanBudget {
  std::uint64_t total_bytes = 0;      // in all
  std::uint64_t fixed_bytes = 0;      // of these, kept by the caller
  std::uint64_t worker_bytes = 0;     // and kept by the caller per worker
  const char* option = "host_bytes";  // that total_bytes came from
};

// Number of workers, each with a chunk of its own, that the budget and `threads` (0: one per processor) allow. Throws
// Error{out_of_memory} naming the smallest budget that suffices if not even one fits.
int scan_workers(const ChunkSource& tensor, const ScanBudget& budget, int threads);

// Calls visit(worker, chunk) for every chunk, in order; each worker (0 to workers - 1) handles one chunk at a time. An
// error ends the traversal; of several errors that of the lowest chunk is thrown, for any number of threads. The meter,
// in a stage that the caller has begun, counts nonzeros and stored bytes on the caller's thread.
void scan_chunks(const ChunkSource& tensor, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, ProgressMeter& meter);

// The chunks in their stored order, several at a time, which the threads of an executor read.
class ChunkWindow {
 public:
  // Takes the memory of `chunks` of the largest ones. `tensor` and `executor` must outlive this.
  ChunkWindow(const ChunkSource& tensor, std::size_t chunks, Executor& executor);

  // The next chunks, which are valid until the next call; empty at the end. Throws as read_chunk() does, once all
  // chunks below the bad one have been handed out.
  std::span<const ChunkView> next();

  // Bytes read from disk for all chunks so far.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Place {
    AlignedBuffer<std::byte> buffer;
    std::vector<std::byte> scratch;
    std::exception_ptr failure;
  };

  const ChunkSource& tensor_;
  Executor& executor_;
  std::vector<Place> places_;
  std::vector<ChunkView> views_;
  std::uint64_t next_ = 0;
  std::uint64_t bytes_read_ = 0;
};

// Of a reordered mode: the tensor's own indices, or those that the container has in their place.
enum class Indices { original, stored };

// One frame of nonzeros: indices per mode, and the values.
struct NonzeroFrame {
  std::size_t count = 0;
  std::array<FrameColumn, max_order> coordinates;
  std::array<double, frame_entries> values;
};

// Decodes frames of chunks.
class NonzeroDecoder {
 public:
  // For original indices reads the reorderings: 4 bytes per index of each reordered mode, as memory_bytes() tells.
  // `tensor` must outlive this. Throws Error: io, corrupt.
  explicit NonzeroDecoder(const ChunkSource& tensor, Indices indices = Indices::original);
  static std::uint64_t memory_bytes(const ContainerInfo& info);

  // Any thread. Throws Error{corrupt} for coordinates outside the shape.
  void decode(const ChunkView& chunk, std::uint64_t frame, NonzeroFrame& out) const;

 private:
  const ChunkSource& tensor_;
  TensorLayout layout_;
  std::vector<std::vector<std::uint32_t>> originals_;  // per mode; empty: stored indices are the tensor's own
};

// The nonzeros in their stored order, some frames of one chunk at a time.
class NonzeroReader {
 public:
  // Holds `window` chunks in memory. `tensor` and `executor` must outlive this. Throws as NonzeroDecoder does.
  NonzeroReader(const ChunkSource& tensor, std::size_t window, Executor& executor, Indices indices = Indices::original)
      : tensor_(tensor), chunks_(tensor, window, executor), decoder_(tensor, indices) {}

  // Goes on to the next `max_frames` frames of a chunk, or to its rest. Returns false at the end. Throws as ChunkWindow
  // does.
  bool next(std::size_t max_frames);

  // Where the nonzeros of these frames begin in the tensor, and their number.
  std::uint64_t first() const { return views_[0].number * tensor_.info().chunk_nnz + first_frame_ * frame_entries; }
  std::size_t count() const;
  std::size_t frames() const { return frames_; }
  // Decodes frame `frame` of them. Any thread. Throws as NonzeroDecoder does.
  void decode(std::size_t frame, NonzeroFrame& out) const { decoder_.decode(views_[0], first_frame_ + frame, out); }

  std::uint64_t bytes_read() const { return chunks_.bytes_read(); }

 private:
  const ChunkSource& tensor_;
  ChunkWindow chunks_;
  NonzeroDecoder decoder_;
  std::span<const ChunkView> views_;  // the current chunk, and those of the window behind it
  std::uint64_t first_frame_ = 0;
  std::size_t frames_ = 0;
};

}  // namespace blco
