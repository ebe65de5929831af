// The chunks that the CPU backend keeps: packed, decoded, and, once enough passes use them, sorted or as a tree.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/fiber_tree.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/sorted_tiles.hpp"

namespace blco {

// The form in which a resident chunk serves a pass; at most one is set. null: the decoded or packed chunk itself.
template <class T>
struct ChunkForm {
  const SortedChunk* sorted = nullptr;
  const FiberTree<T>* tree = nullptr;  // only if threads add to private rows
};

// T: double or float, of products and sums.
template <class T>
class ResidentChunks {
 public:
  // config.sorted_bytes covers sorted copies and trees of decoded chunks, and their making. Decoder and executor must
  // outlive this.
  ResidentChunks(const FrameDecoder& decoder, const BackendConfig& config, Executor& executor);

  // Decodes the chunk on all threads, each with a ring; a packed chunk stays as it is, and its payloads must stay
  // valid. Throws Error{corrupt}.
  ResidentId keep(const ChunkView& chunk, ResidentForm form, std::span<FrameRing> rings);

  const FrameSource& source(ResidentId chunk) const { return chunks_.at(chunk).source; }

  // Counts a pass of this mode. Once there were enough, makes a tree of the chunk, which may serve all modes, or a
  // copy sorted for this one.
  ChunkForm<T> form_for(ResidentId chunk, int mode, std::span<FrameRing> rings);

  // How many chunks have a tree.
  std::uint64_t trees() const { return trees_; }

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
    std::vector<Copy> copies;  // per mode; empty: there is one form only
    std::optional<FiberTree<T>> tree;
    bool wants_tree = false;
  };

  void make_tree(Resident& resident, std::span<FrameRing> rings);
  void sort(Resident& resident, int mode);

  const FrameDecoder* decoder_;
  int order_;
  std::uint64_t row_bytes_;  // of the output
  bool can_sort_;
  bool can_keep_trees_;
  std::uint64_t sorted_bytes_left_;
  std::uint64_t trees_ = 0;
  Executor* executor_;
  std::deque<Resident> chunks_;
};

}  // namespace blco
