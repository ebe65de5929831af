#include "engine/work/chunk_share.hpp"

#include <algorithm>

namespace blco {

IndexRange rows_of_chunks(const ChunkSource& tensor, const IndexRange& chunks, std::size_t mode) {
  if (chunks.begin == chunks.end) return {};
  IndexRange rows{tensor.info().shape[mode], 0};
  for (std::uint64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
    rows.begin = std::min(rows.begin, tensor.lower(chunk)[mode]);
    rows.end = std::max(rows.end, tensor.upper(chunk)[mode] + 1);
  }
  return rows;
}

ChunkShare::ChunkShare(const ChunkSource& tensor, const IndexRange& range)
    : tensor_(&tensor), first_(range.begin), info_(tensor.info()) {
  const std::uint64_t whole = range.end * info_.chunk_nnz;
  info_.nnz = std::min(whole, info_.nnz) - range.begin * info_.chunk_nnz;
}

}  // namespace blco
