#include "engine/work/pass_chunks.hpp"

#include <algorithm>

namespace blco {

PassChunks::PassChunks(const ChunkSource& tensor) : tensor_(&tensor) {
  const std::uint64_t order = tensor.info().shape.size();
  bool needs_natural = false;
  for (std::uint64_t mode = 0; mode < order; ++mode) needs_natural |= tensor.ordered_copy(mode) == nullptr;
  if (needs_natural) add(tensor, -1);
  for (std::uint64_t mode = 0; mode < order; ++mode) {
    if (const ChunkSource* const copy = tensor.ordered_copy(mode)) add(*copy, static_cast<int>(mode));
  }
}

void PassChunks::add(const ChunkSource& chunks, int mode) {
  const std::uint64_t first = sources_.empty() ? 0 : sources_.back().range.end;
  sources_.push_back({&chunks, mode, {first, first + chunks.chunk_count()}});
}

std::vector<ChunkRange> PassChunks::of_modes() const {
  std::vector<ChunkRange> ranges(info().shape.size(), sources_.front().range);
  for (const Source& source : sources_) {
    if (source.mode >= 0) ranges[static_cast<std::size_t>(source.mode)] = source.range;
  }
  return ranges;
}

std::vector<BitModes> PassChunks::orders() const {
  std::vector<BitModes> orders(info().shape.size());
  for (const Source& source : sources_) {
    if (source.mode >= 0) orders[static_cast<std::size_t>(source.mode)] = source.chunks->info().bit_modes;
  }
  return orders;
}

const PassChunks::Source& PassChunks::source_of(std::uint64_t chunk) const {
  return *std::ranges::find_if(sources_, [chunk](const Source& source) { return chunk < source.range.end; });
}

std::uint64_t PassChunks::nnz_of_chunk(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  return source.chunks->nnz_of_chunk(chunk - source.range.first);
}

const StoredExtents& PassChunks::extents(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  return source.chunks->extents(chunk - source.range.first);
}

std::span<const std::uint64_t> PassChunks::lower(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  return source.chunks->lower(chunk - source.range.first);
}

std::span<const std::uint64_t> PassChunks::upper(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  return source.chunks->upper(chunk - source.range.first);
}

std::uint64_t PassChunks::buffer_bytes(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  return source.chunks->buffer_bytes(chunk - source.range.first);
}

std::uint64_t PassChunks::scratch_bytes(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  return source.chunks->scratch_bytes(chunk - source.range.first);
}

ChunkView PassChunks::read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const {
  const Source& source = source_of(chunk);
  return source.chunks->read_chunk(chunk - source.range.first, buffer, scratch);
}

std::unique_ptr<ChunkRead> PassChunks::begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                                  std::span<std::byte> scratch) const {
  const Source& source = source_of(chunk);
  return source.chunks->begin_read(chunk - source.range.first, buffer, scratch);
}

void PassChunks::announce_read(std::uint64_t chunk) const {
  const Source& source = source_of(chunk);
  source.chunks->announce_read(chunk - source.range.first);
}

}  // namespace blco
