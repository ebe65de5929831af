// The task of the row kernels for nonzeros of a chunk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/factor_set.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/pass_request.hpp"

namespace blco {

// The modes of `read` are factors, in ascending order; rows and values are those of the ring. It has no output yet.
template <class Sum, class Factor>
RowsTask<Sum, Factor> make_rows_task(const FactorSet<FactorMatrix<Factor, Sum>>& factors, std::uint64_t stride,
                                     const FrameDecoder& decoder, const FrameSource& source, ModeSet read,
                                     FrameRing& ring) {
  RowsTask<Sum, Factor> task;
  std::uint64_t bytes = 0;  // of the rows that nonzeros of the chunk can have
  for (int mode = 0; mode < decoder.order(); ++mode) {
    const RowRange range = source.places[static_cast<std::size_t>(mode)];
    bytes += range.count() * stride * (has_mode(read, mode) ? sizeof(Factor) : sizeof(Sum));
    if (!has_mode(read, mode)) continue;
    task.factors[static_cast<std::size_t>(task.factor_count++)] = {factors[mode].matrix().row(0), ring.rows(mode),
                                                                   decoder.row_mask(mode), 0};
  }
  task.prefetch = bytes > prefetched_bytes(stride * sizeof(Factor));
  task.values = ring.values();
  task.stride = stride;
  return task;
}

}  // namespace blco
