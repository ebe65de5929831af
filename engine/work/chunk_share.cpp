#include "engine/work/chunk_share.hpp"

#include <algorithm>
#include <array>

#include "blco/crc32c.hpp"

namespace blco {

std::uint32_t crc_of_chunks(const ChunkSource& tensor) {
  std::uint32_t crc = 0;
  const auto add = [&crc](std::span<const std::uint64_t> numbers) { crc = crc32c(std::as_bytes(numbers), crc); };
  add(tensor.info().shape);
  for (const ReorderedMode& mode : tensor.info().reordered) {
    add(std::array{static_cast<std::uint64_t>(mode.mode), std::uint64_t{mode.crc32c}});
  }
  for (std::uint64_t chunk = 0; chunk < tensor.info().chunk_count(); ++chunk) {
    add(tensor.lower(chunk));
    add(tensor.upper(chunk));
    for (const StoredExtent& extent : tensor.extents(chunk)) add(std::array{extent.payload_bytes});
  }
  return crc;
}

ChunkShare::ChunkShare(const ChunkSource& tensor, const IndexRange& range)
    : tensor_(&tensor), first_(range.begin), info_(tensor.info()) {
  const std::uint64_t whole = range.end * info_.chunk_nnz;
  info_.nnz = std::min(whole, info_.nnz) - range.begin * info_.chunk_nnz;
  info_.reordered.clear();
}

}  // namespace blco
