#include "engine/work/chunk_share.hpp"

#include <algorithm>

namespace blco {

ChunkShare::ChunkShare(const ChunkSource& tensor, const IndexRange& range)
    : tensor_(&tensor), first_(range.begin), info_(tensor.info()) {
  const std::uint64_t whole = range.end * info_.chunk_nnz;
  info_.nnz = std::min(whole, info_.nnz) - range.begin * info_.chunk_nnz;
  info_.reordered.clear();
}

}  // namespace blco
