// The chunks that the CPU backend keeps: packed, decoded, and, once enough passes of a mode use them, arranged for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/host/ttmc_rows.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {

// Into how many parts an arranged pass is cut: several a thread, since threads are not equally fast.
inline std::size_t arranged_parts(const BackendConfig& config, int threads) {
  if (threads == 1) return 1;
  // Each part of Kronecker products needs room for these.
  return static_cast<std::size_t>(threads) * (config.columns.empty() ? 8 : 1);
}

class ResidentChunks {
 public:
  struct ArrangedGroup {
    std::vector<ResidentId> order;  // in which the chunks' nonzeros are in each row; empty: not tried yet
    std::optional<ArrangedNonzeros> nonzeros;
  };
  // Decoded chunks that are arranged together.
  struct Group {
    std::vector<ResidentId> chunks;
    std::uint64_t nnz = 0;
    std::vector<ArrangedGroup> of_mode;
    std::vector<double> fibers;  // see ArrangeScratch
  };

  // config.arranged_bytes covers arranged copies of decoded chunks, and their making. Decoder and executor must outlive
  // this.
  ResidentChunks(const FrameDecoder& decoder, const BackendConfig& config, Executor& executor)
      : decoder_(&decoder),
        rows_(config.rows()),
        request_{config.layout.order(), 0, arranged_parts(config, executor.width()),
                 executor.width() > 1 && config.private_bytes > 0, may_have_fibers(config, executor.width())},
        patience_(config.columns.empty() ? passes_before_arranging : 0),
        passes_(rows_.size()),
        bytes_left_(config.arranged_bytes - std::min(config.arranged_bytes, shared_bytes(config, executor.width()))),
        executor_(&executor) {}

  // Decodes the chunk on all threads, each with a ring; a packed chunk stays as it is, and its payloads must stay
  // valid. Throws Error{corrupt}.
  ResidentId keep(const ChunkView& chunk, Tier tier, const FrameDecoder& decoder, std::span<FrameRing> rings) {
    Resident resident;
    resident.source = decoder.open(chunk);
    if (tier != Tier::packed) {
      const FrameSource source = resident.source;
      resident.decoded = decoder.make_decoded(source);
      run_parts(*executor_, rings.size(), source.frames(),
                [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
                  for (std::uint64_t f = begin; f < end; ++f)
                    decoder.decode_into(source, f, rings[part], resident.decoded);
                });
      resident.source.index = resident.source.key = resident.source.value = {};
      resident.source.rows_proved = true;
    }
    chunks_.push_back(std::move(resident));
    keeps_ = true;
    const ResidentId id = chunks_.size() - 1;
    if (tier == Tier::packed) return id;
    chunks_.back().source.decoded = &chunks_.back().decoded;
    if (bytes_left_ > 0 && chunk.sorted_by < 0) join_group(id);
    return id;
  }

  const FrameSource& source(ResidentId chunk) const { return chunks_.at(chunk).source; }
  // A pass has looked at all its rows, and its memory does not change.
  void prove(ResidentId chunk) { chunks_.at(chunk).source.rows_proved = true; }

  // A pass of one mode begins, which may use arranged chunks.
  void count_pass(int mode) {
    keeps_ = false;
    // By now every other mode of a sweep has been arranged too.
    if (++passes_[static_cast<std::size_t>(mode)] == patience_ + 3) {
      scratch_ = {};
      scratch_bytes_ = 0;
    }
  }

  // nullptr: the chunk is packed, or nothing is arranged.
  Group* group_of(ResidentId chunk) {
    const std::size_t group = chunks_.at(chunk).group;
    return group < groups_.size() ? &groups_[group] : nullptr;
  }

  // False: arranged() gives nothing yet, or never. Groups are not whole in a pass that keeps chunks.
  bool may_arrange(const Group& group, int mode) const {
    const auto n = static_cast<std::size_t>(mode);
    return !keeps_ && passes_[n] > patience_ && (group.of_mode[n].order.empty() || group.of_mode[n].nonzeros);
  }

  // The group arranged for the mode, with these chunks one after the other; made if there is room. nullptr: it is not.
  const ArrangedNonzeros* arranged(Group& group, int mode, std::span<const ResidentId> order,
                                   std::span<FrameRing> rings) {
    ArrangedGroup& of_mode = group.of_mode[static_cast<std::size_t>(mode)];
    if (of_mode.order.empty() && std::ranges::is_permutation(order, group.chunks)) {
      of_mode.order.assign(order.begin(), order.end());
      of_mode.nonzeros = arrange_group(of_mode.order, group, mode, rings);
    }
    return of_mode.nonzeros && std::ranges::equal(order, of_mode.order) ? &*of_mode.nonzeros : nullptr;
  }

  // Memory of a decoded chunk, at most.
  static std::uint64_t decoded_bytes(const TensorLayout& layout, std::uint64_t nnz) {
    return bytes_of<DecodedChunk>(nnz, layout.has_high_word(), true) + sizeof(Resident);
  }

  // The largest config.arranged_bytes of use.
  static std::uint64_t useful_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs, int threads) {
    const int order = config.layout.order();
    const std::size_t parts = arranged_parts(config, threads);
    std::uint64_t of_results = 0;
    std::uint64_t of_making = 0;
    const auto add_group = [&](std::uint64_t nnz) {
      of_making = std::max(of_making, arranging_bytes(order, nnz, threads, may_have_fibers(config, threads)));
      for (int mode = 0; mode < order; ++mode) {
        const bool has_order = !config.orders.empty() && !config.orders[static_cast<std::size_t>(mode)].empty();
        if (!has_order) of_results += arranged_bytes(order, nnz, config.rows_of(mode), parts);
      }
    };
    std::uint64_t group_nnz = 0;
    std::uint64_t group_chunks = 0;
    for (const std::uint64_t nnz : nnzs) {
      if (is_full(group_nnz, group_chunks, nnz)) {
        add_group(std::exchange(group_nnz, 0));
        group_chunks = 0;
      }
      group_nnz += nnz;
      ++group_chunks;
    }
    add_group(group_nnz);
    return shared_bytes(config, threads) + of_making + of_results;
  }

 private:
  // Not for Kronecker products, which have no loop for them.
  static bool may_have_fibers(const BackendConfig& config, int threads) {
    return threads > 1 && config.private_bytes > 0 && config.columns.empty();
  }

  // A group cannot take another chunk, with `more` nonzeros.
  static bool is_full(std::uint64_t nnz, std::uint64_t chunks, std::uint64_t more) {
    return chunks > 0 && (nnz + more > most_arranged_nnz || chunks == most_arranged_chunks);
  }

  // Of a row per part, of the widest output.
  static std::uint64_t shared_bytes(const BackendConfig& config, int threads) {
    std::uint64_t stride = padded_rank<double>(config.rank);
    for (int mode = 0; mode < config.layout.order() && !config.columns.empty(); ++mode) {
      stride = std::max(stride, kronecker_row<double>(config, mode).stride);
    }
    return mapped_bytes(arranged_parts(config, threads) * stride * sizeof(double));
  }

  struct Resident {
    FrameSource source;
    DecodedChunk decoded;  // source points to it, or to the caller's payloads
    std::size_t group = ~std::size_t{0};
  };

  void join_group(ResidentId id) {
    const std::uint64_t nnz = chunks_.back().source.nnz;
    if (groups_.empty() || is_full(groups_.back().nnz, groups_.back().chunks.size(), nnz)) {
      groups_.emplace_back();
      groups_.back().of_mode.resize(rows_.size());
    }
    groups_.back().chunks.push_back(id);
    groups_.back().nnz += nnz;
    chunks_.back().group = groups_.size() - 1;
  }

  std::optional<ArrangedNonzeros> arrange_group(std::span<const ResidentId> chunks, Group& group, int mode,
                                                std::span<FrameRing> rings) {
    const std::uint64_t bytes =
        arranged_bytes(request_.order, group.nnz, rows_[static_cast<std::size_t>(mode)], request_.parts);
    const std::uint64_t making = arranging_bytes(request_.order, group.nnz, executor_->width(), request_.has_fibers);
    if (bytes + std::max(making, scratch_bytes_) > bytes_left_) return std::nullopt;
    scratch_bytes_ = std::max(making, scratch_bytes_);
    std::vector<FrameSource> sources;
    for (const ResidentId chunk : chunks) sources.push_back(source(chunk));
    ArrangeRequest request = request_;
    request.mode = mode;
    std::swap(scratch_.fibers, group.fibers);
    std::optional<ArrangedNonzeros> made = arrange(*decoder_, sources, request, scratch_, rings, *executor_);
    std::swap(scratch_.fibers, group.fibers);
    if (made) bytes_left_ -= bytes;
    return made;
  }

  const FrameDecoder* decoder_;
  std::vector<std::uint64_t> rows_;  // per mode
  ArrangeRequest request_;
  int patience_;             // passes of a mode before it is arranged; none where output rows are wide
  std::vector<int> passes_;  // per mode, so far
  std::uint64_t bytes_left_;
  Executor* executor_;
  std::deque<Resident> chunks_;
  std::vector<Group> groups_;
  ArrangeScratch scratch_;
  std::uint64_t scratch_bytes_ = 0;  // of it, at most
  bool keeps_ = false;               // chunks have come in this pass
};

}  // namespace blco
