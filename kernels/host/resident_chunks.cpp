// Keeps chunks in order of arrival.
#include "kernels/host/resident_chunks.hpp"

#include <utility>

#include "kernels/host/row_matrix.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {

template <class T>
ResidentChunks<T>::ResidentChunks(const FrameDecoder& decoder, const BackendConfig& config, Executor& executor)
    : decoder_(&decoder),
      order_(config.layout.order()),
      row_bytes_(padded_rank<T>(config.rank) * sizeof(T)),
      can_sort_(can_sort(config)),
      can_keep_trees_(can_keep_trees(config, executor.width())),
      sorted_bytes_left_(can_sort_ || can_keep_trees_ ? config.sorted_bytes : 0),
      executor_(&executor) {}

template <class T>
ResidentId ResidentChunks<T>::keep(const ChunkView& chunk, ResidentForm form, std::span<FrameRing> rings) {
  Resident resident;
  resident.source = decoder_->open(chunk);
  if (form != ResidentForm::packed) {
    const FrameSource source = resident.source;
    resident.decoded = decoder_->make_decoded(source);
    run_parts(*executor_, rings.size(), source.frames(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t f = begin; f < end; ++f) decoder_->decode_into(source, f, rings[part], resident.decoded);
    });
    resident.source.index = resident.source.key = resident.source.value = {};
    if (sorted_bytes_left_ > 0) resident.copies.resize(static_cast<std::size_t>(order_));
    resident.wants_tree = can_keep_trees_;
  }
  chunks_.push_back(std::move(resident));
  if (form != ResidentForm::packed) chunks_.back().source.decoded = &chunks_.back().decoded;
  return chunks_.size() - 1;
}

template <class T>
ChunkForm<T> ResidentChunks<T>::form_for(ResidentId chunk, int mode, std::span<FrameRing> rings) {
  Resident& resident = chunks_.at(chunk);
  if (resident.copies.empty()) return {};
  Copy& copy = resident.copies[static_cast<std::size_t>(mode)];
  const bool has_enough_passes = copy.passes++ == passes_before_sorting;
  if (has_enough_passes && resident.wants_tree) make_tree(resident, rings);
  if (resident.tree && resident.tree->serves(mode)) return {.tree = &*resident.tree};
  if (has_enough_passes && can_sort_) sort(resident, mode);
  return {.sorted = copy.sorted ? &*copy.sorted : nullptr};
}

template <class T>
void ResidentChunks<T>::make_tree(Resident& resident, std::span<FrameRing> rings) {
  resident.wants_tree = false;
  resident.tree =
      build_fiber_tree<T>(*decoder_, resident.source, order_, rings, {row_bytes_, sorted_bytes_left_}, *executor_);
  if (!resident.tree) return;
  sorted_bytes_left_ -= fiber_tree_bytes<T>(count_nodes(resident.tree->tree));
  ++trees_;
}

template <class T>
void ResidentChunks<T>::sort(Resident& resident, int mode) {
  const std::uint64_t bytes = sorted_chunk_bytes(resident.source.nnz);
  if (bytes + sort_scratch_bytes(executor_->width()) > sorted_bytes_left_) return;
  Copy& copy = resident.copies[static_cast<std::size_t>(mode)];
  copy.sorted = sort_chunk(resident.decoded, resident.source.nnz, decoder_->row_mask(mode), min_sorted_run(row_bytes_),
                           *executor_);
  if (copy.sorted) sorted_bytes_left_ -= bytes;
}

template <class T>
std::uint64_t ResidentChunks<T>::decoded_bytes(const TensorLayout& layout, std::uint64_t nnz) {
  return decoded_chunk_bytes(layout, nnz) + sizeof(Resident);
}

template class ResidentChunks<double>;
template class ResidentChunks<float>;

}  // namespace blco
