// Keeps chunks in order of arrival.
#include "kernels/host/resident_chunks.hpp"

#include <utility>

namespace blco {

ResidentId ResidentChunks::keep(const ChunkView& chunk, ResidentForm form, std::span<FrameRing> rings) {
  Resident resident;
  resident.source = decoder_->open(chunk);
  if (form != ResidentForm::packed) {
    const FrameSource source = resident.source;
    resident.decoded = decoder_->make_decoded(source);
    const std::size_t slices = rings.size();
    executor_->run(slices, [&](std::size_t slice) {
      for (std::uint64_t f = source.frames() * slice / slices; f < source.frames() * (slice + 1) / slices; ++f) {
        decoder_->decode_into(source, f, rings[slice], resident.decoded);
      }
    });
    resident.source.index = resident.source.key = resident.source.value = {};
    if (sorted_bytes_left_ > 0) resident.copies.resize(order_);
  }
  chunks_.push_back(std::move(resident));
  if (form != ResidentForm::packed) chunks_.back().source.decoded = &chunks_.back().decoded;
  return chunks_.size() - 1;
}

const SortedChunk* ResidentChunks::sorted(ResidentId chunk, int mode) {
  Resident& resident = chunks_.at(chunk);
  if (resident.copies.empty()) return nullptr;
  Copy& copy = resident.copies[static_cast<std::size_t>(mode)];
  const std::uint64_t bytes = sorted_chunk_bytes(resident.source.nnz);
  if (copy.passes++ == passes_before_sorting && bytes + sort_scratch_bytes(executor_->width()) <= sorted_bytes_left_) {
    copy.sorted = sort_chunk(resident.decoded, resident.source.nnz, decoder_->row_mask(mode),
                             min_sorted_run(row_bytes_), *executor_);
    if (copy.sorted) sorted_bytes_left_ -= bytes;
  }
  return copy.sorted ? &*copy.sorted : nullptr;
}

std::uint64_t ResidentChunks::decoded_bytes(const TensorLayout& layout, std::uint64_t nnz) {
  return decoded_chunk_bytes(layout, nnz) + sizeof(Resident);
}

}  // namespace blco
