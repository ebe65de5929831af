#include "engine/work/rows/chunk_share.hpp"

#include <algorithm>
#include <array>

#include "blco/crc32c.hpp"

namespace blco {

IndexRange chunk_range(std::uint64_t chunks, int rank, const Peers& peers) {
  double all = 0;
  for (int worker = 0; worker < peers.size(); ++worker) all += peers.share(worker);
  // Where the workers below `end` end. Exact for equal shares, and the last one ends at the last chunk.
  const auto place = [&](int end) {
    double shares = 0;
    for (int worker = 0; worker < end; ++worker) shares += peers.share(worker);
    return end == peers.size() ? chunks : static_cast<std::uint64_t>(static_cast<double>(chunks) * shares / all);
  };
  return {place(rank), place(rank + 1)};
}

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
  info_.nnz = std::min(whole, info_.nnz) - std::min(range.begin * info_.chunk_nnz, info_.nnz);
  info_.reordered.clear();
}

}  // namespace blco
