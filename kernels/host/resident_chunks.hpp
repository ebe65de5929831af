// The chunks that the CPU backend keeps: packed, decoded, and, once enough passes use them, sorted or as a tree.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/fiber_tree.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/host/sorted_tiles.hpp"
#include "kernels/host/ttmc_rows.hpp"
#include "kernels/part_ranges.hpp"

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
  ResidentChunks(const FrameDecoder& decoder, const BackendConfig& config, Executor& executor)
      : decoder_(&decoder),
        order_(config.layout.order()),
        row_bytes_(sizeof(T) *
                   (config.columns.empty() ? padded_rank<T>(config.rank) : kronecker_row<T>(config, 0).stride)),
        patience_(config.columns.empty() ? passes_before_sorting : 0),
        can_sort_(can_sort(config)),
        can_keep_trees_(can_keep_trees(config, executor.width())),
        sorted_bytes_left_(can_sort_ || can_keep_trees_ ? config.sorted_bytes : 0),
        executor_(&executor) {}

  // Decodes the chunk on all threads, each with a ring; a packed chunk stays as it is, and its payloads must stay
  // valid. Throws Error{corrupt}.
  ResidentId keep(const ChunkView& chunk, ResidentForm form, std::span<FrameRing> rings) {
    Resident resident;
    resident.source = decoder_->open(chunk);
    if (form != ResidentForm::packed) {
      const FrameSource source = resident.source;
      resident.decoded = decoder_->make_decoded(source);
      run_parts(*executor_, rings.size(), source.frames(),
                [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
                  for (std::uint64_t f = begin; f < end; ++f)
                    decoder_->decode_into(source, f, rings[part], resident.decoded);
                });
      resident.source.index = resident.source.key = resident.source.value = {};
      if (sorted_bytes_left_ > 0) resident.copies.resize(static_cast<std::size_t>(order_));
      resident.wants_tree = can_keep_trees_;
    }
    chunks_.push_back(std::move(resident));
    if (form != ResidentForm::packed) chunks_.back().source.decoded = &chunks_.back().decoded;
    return chunks_.size() - 1;
  }

  const FrameSource& source(ResidentId chunk) const { return chunks_.at(chunk).source; }

  // Counts a pass of this mode. Once there were enough, makes a tree of the chunk, which may serve all modes, or a
  // copy sorted for this one.
  ChunkForm<T> form_for(ResidentId chunk, int mode, std::span<FrameRing> rings) {
    Resident& resident = chunks_.at(chunk);
    if (resident.copies.empty()) return {};
    Copy& copy = resident.copies[static_cast<std::size_t>(mode)];
    const bool has_enough_passes = copy.passes++ == patience_;
    if (has_enough_passes && resident.wants_tree) make_tree(resident, rings);
    if (resident.tree && resident.tree->serves(mode)) return {.tree = &*resident.tree};
    if (has_enough_passes && can_sort_) sort(resident, mode);
    return {.sorted = copy.sorted ? &*copy.sorted : nullptr};
  }

  // How many chunks have a tree.
  std::uint64_t trees() const { return trees_; }

  // Memory of a decoded chunk.
  static std::uint64_t decoded_bytes(const TensorLayout& layout, std::uint64_t nnz) {
    return decoded_chunk_bytes(layout, nnz) + sizeof(Resident);
  }

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

  void make_tree(Resident& resident, std::span<FrameRing> rings) {
    resident.wants_tree = false;
    resident.tree =
        build_fiber_tree<T>(*decoder_, resident.source, order_, rings, {row_bytes_, sorted_bytes_left_}, *executor_);
    if (!resident.tree) return;
    sorted_bytes_left_ -= fiber_tree_bytes<T>(count_nodes(resident.tree->tree));
    ++trees_;
  }

  void sort(Resident& resident, int mode) {
    const std::uint64_t bytes = sorted_chunk_bytes(resident.source.nnz);
    if (bytes + sort_scratch_bytes(executor_->width()) > sorted_bytes_left_) return;
    Copy& copy = resident.copies[static_cast<std::size_t>(mode)];
    copy.sorted = sort_chunk(resident.decoded, resident.source.nnz, decoder_->row_mask(mode),
                             min_sorted_run(row_bytes_), *executor_);
    if (copy.sorted) sorted_bytes_left_ -= bytes;
  }

  const FrameDecoder* decoder_;
  int order_;
  std::uint64_t row_bytes_;  // of the output
  int patience_;             // passes before a chunk is arranged; none where output rows are wide
  bool can_sort_;
  bool can_keep_trees_;
  std::uint64_t sorted_bytes_left_;
  std::uint64_t trees_ = 0;
  Executor* executor_;
  std::deque<Resident> chunks_;
};

}  // namespace blco
