// The chunks that the CPU backend keeps: packed, decoded, and, once enough passes use them, sorted for a mode.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/sorted_tiles.hpp"

namespace blco {

class ResidentChunks {
 public:
  // `row_bytes` is the size of an output row; `sorted_bytes` covers sorted copies of decoded chunks and the sorting.
  // Decoder and executor must outlive this.
  ResidentChunks(const FrameDecoder& decoder, int order, std::uint64_t row_bytes, std::uint64_t sorted_bytes,
                 Executor& executor)
      : decoder_(&decoder),
        order_(static_cast<std::size_t>(order)),
        row_bytes_(row_bytes),
        sorted_bytes_left_(sorted_bytes),
        executor_(&executor) {}

  // Decodes the chunk on all threads, each with a ring; a packed chunk stays as it is, and its payloads must stay
  // valid. Throws Error{corrupt}.
  ResidentId keep(const ChunkView& chunk, ResidentForm form, std::span<FrameRing> rings);

  const FrameSource& source(ResidentId chunk) const { return chunks_.at(chunk).source; }

  // Returns the sorted copy for a pass of this mode, made once the chunk has had enough of these passes; else null.
  const SortedChunk* sorted(ResidentId chunk, int mode);

  // Memory of a decoded chunk.
  static std::uint64_t decoded_bytes(const TensorLayout& layout, std::uint64_t nnz);

 private:
  struct Copy {
    int passes = 0;  // so far
    std::optional<SortedChunk> sorted;
  };
  struct Resident {
    FrameSource source;
    DecodedChunk decoded;      // source points to it, or to the caller's payloads
    std::vector<Copy> copies;  // per mode; empty: never sorted
  };

  const FrameDecoder* decoder_;
  std::size_t order_;
  std::uint64_t row_bytes_;
  std::uint64_t sorted_bytes_left_;
  Executor* executor_;
  std::deque<Resident> chunks_;
};

}  // namespace blco
